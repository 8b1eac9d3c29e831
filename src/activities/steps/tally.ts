import type { StepProgress } from '../../contract/activities';
import { noUsage, type Usage } from '../../core/message';
import { addWaste, tokensIn, type Waste } from '../../core/waste';
import type { ModelDelta, ModelFailure } from '../../models/model';

/** The cost of the attempts at one model call so far, this one included. Heartbeats pass it on, in case this attempt is lost. */
export interface Tally {
  /** The request is sent. `characters` counts its size, and is called only if needed. */
  asked(characters: () => number): void;
  heard(delta: ModelDelta): void;
  /** The provider reported the usage of the answer. */
  told(usage: Usage): void;
  /** The attempt failed. Its cost counts only if the provider charges for such a failure. */
  failed(failure: ModelFailure): void;
  /** The cost of earlier attempts. */
  wasted(): Waste | undefined;
  /** The cost of earlier attempts and of this one. */
  soFar(): Pick<StepProgress, 'wasted' | 'spending'>;
}

export function tally(before: Partial<StepProgress> | undefined, attempt: number, cost: (usage: Usage) => number | undefined): Tally {
  // Attempts that left no progress. Each is assumed to have reached the model, and so to have cost its input.
  let silent = attempt - 1 - (before?.attempt ?? 0);
  let earlier = addWaste(before?.wasted, before?.spending);
  let asked: (() => number) | undefined;
  let input: number | undefined;
  let output = 0;
  let told: Usage | undefined;
  const priced = (usage: Usage, estimated: boolean): Waste => {
    const costUsd = cost(usage);
    return { usage, ...(costUsd !== undefined && { costUsd }), ...(estimated && { estimated: true }) };
  };
  const spending = () => {
    if (!asked) return undefined;
    if (told) return priced(told, false);
    input ??= tokensIn(asked());
    return priced({ ...noUsage, inputTokens: input, outputTokens: tokensIn(output) }, true);
  };
  return {
    asked(characters) {
      asked = characters;
      if (silent <= 0) return;
      input = tokensIn(characters());
      earlier = addWaste(earlier, priced({ ...noUsage, inputTokens: silent * input }, true));
      // An attempt may send a second request.
      silent = 0;
    },
    heard(delta) {
      output += delta.type === 'tool-call' ? (delta.name ?? '').length + (delta.arguments ?? '').length : delta.text.length;
    },
    told(usage) {
      told = usage;
    },
    failed(failure) {
      if (!isPaid(failure, output > 0)) asked = undefined;
    },
    wasted: () => earlier,
    soFar() {
      const mine = spending();
      return { ...(earlier && { wasted: earlier }), ...(mine && { spending: mine }) };
    },
  };
}

/** Whether the provider charges for a failed call. It does not if the call was rejected or never arrived. */
function isPaid({ kind, details }: ModelFailure, heardAnything: boolean): boolean {
  return heardAnything || (details.status === undefined && (kind === 'truncated-stream' || kind === 'timeout' || kind === 'empty'));
}
