import type { ModelSettings } from '../../core/agent';

/** Whether a model reasons decides which fields its request may have. Servers add their own prefixes to names, so names match anywhere. */
const reasoning = /(?:^|[/_.-])(?:o[134](?:-|$)|gpt-?(?:5|6|oss)|codex|computer-use|grok-(?:3-mini|4|5|code))/i;
const plain = /gpt-?5(?:\.\d+)?-chat|non-reasoning/i;
/** Models that reject a temperature while they reason. */
const fixedTemperature = /(?:^|[/_.-])(?:o[134](?:-|$)|gpt-?[56]|codex)/i;

export interface ModelTraits {
  reasons: boolean;
  takesTemperature: boolean;
}

/** With a reasoning effort, a model counts as a reasoning model whatever its name. */
export function traitsOf(model: string, { reasoningEffort: effort }: ModelSettings): ModelTraits {
  const byName = reasoning.test(model) && !plain.test(model);
  const reasons = byName || (effort !== undefined && effort !== 'none');
  return { reasons, takesTemperature: !byName || effort === 'none' || !fixedTemperature.test(model) };
}
