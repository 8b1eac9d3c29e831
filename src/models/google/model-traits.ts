import type { ModelSettings } from '../../core/agent';

/** Properties of a model that change the request. An unknown Gemini name is treated as a new model. */
export interface ModelTraits {
  /** Models of one family read each other's signatures. */
  family: string;
  /** From Gemini 3 on: calls need signatures, tool results may contain images, and an answer schema can be combined with tools. */
  isNew: boolean;
  /** How thinking is requested: by a level, by a token budget, or not at all. */
  thinking: 'level' | 'budget' | 'none';
  /** Whether it accepts instructions, tools and an answer schema in separate fields. */
  isGemini: boolean;
}

export function traitsOf(model: string): ModelTraits {
  const name = nameOf(model);
  if (!/^gemini-/.test(name)) return { family: name, isNew: false, thinking: 'none', isGemini: !/^gemma-[1-3]/.test(name) };
  const generation = generationOf(name);
  const isNew = generation >= 3;
  const speaksOrPaints = /image|tts|audio|live/.test(name);
  const thinking = speaksOrPaints ? 'none' : isNew ? 'level' : /^gemini-2\.5-/.test(name) ? 'budget' : 'none';
  return { family: `gemini-${generation}`, isNew, thinking, isGemini: true };
}

function nameOf(model: string): string {
  return model.slice(model.lastIndexOf('/') + 1).toLowerCase();
}

/** An alias such as `gemini-flash-latest` counts as a new model. */
function generationOf(name: string): number {
  const number = /^gemini-(\d{1,2})(?:\D|$)/.exec(name)?.[1];
  if (number !== undefined) return Number(number);
  return /^gemini-(?:pro(?:-vision)?$|robotics-er-1)/.test(name) ? 1 : 3;
}

type Effort = NonNullable<ModelSettings['reasoningEffort']>;

const budgets = { low: 1_024, medium: 8_192, high: 24_576 };

/** The request field for thinking. If an effort is set, thoughts are shown. */
export function thinkingConfig(model: string, effort: Effort | undefined): object | undefined {
  const { thinking } = traitsOf(model);
  const name = nameOf(model);
  if (effort === undefined || thinking === 'none') return undefined;
  const shown = effort === 'none' ? {} : { includeThoughts: true };
  if (thinking === 'level') return { ...shown, thinkingLevel: levelOf(name, effort) };
  // 2.5 Pro can't turn thinking off.
  const least = /^gemini-2\.5-pro/.test(name) ? 128 : 0;
  return { ...shown, thinkingBudget: effort === 'none' ? least : budgets[effort] };
}

/** No Gemini 3 model can turn thinking off; the available levels differ. */
function levelOf(name: string, effort: Effort): string {
  if (effort === 'none') return /^gemini-3(?:\.[0-6])?-flash|flash-lite/.test(name) ? 'MINIMAL' : 'LOW';
  if (effort === 'medium' && /^gemini-3-pro/.test(name)) return 'HIGH';
  return effort.toUpperCase();
}
