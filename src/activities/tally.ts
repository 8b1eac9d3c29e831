import type { StepProgress } from '../contract/activities';
import { noUsage, type Usage } from '../core/message';
import { addWaste, tokensIn, type Waste } from '../core/waste';
import type { ModelDelta, ModelFailure } from '../models/model';

/** What the attempts at one model call have cost so far, this one included: known to the next attempt where this one is lost. */
export interface Tally {
  /** The request goes out, with so many characters: counted only where it is asked for. */
  asked(characters: () => number): void;
  heard(delta: ModelDelta): void;
  /** The provider told what the answer cost. */
  told(usage: Usage): void;
  /** It failed so: whether the provider takes money for it. */
  failed(failure: ModelFailure): void;
  /** Of earlier attempts. */
  wasted(): Waste | undefined;
  /** Of this one, too. */
  soFar(): Pick<StepProgress, 'wasted' | 'spending'>;
}

export function tally(before: Partial<StepProgress> | undefined, attempt: number, cost: (usage: Usage) => number | undefined): Tally {
  // Attempts that left no word: where they got as far as the model, they cost at least what it read.
  const silent = attempt - 1 - (before?.attempt ?? 0);
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

/** Not where the call was turned down, or never arrived. */
function isPaid({ kind, details }: ModelFailure, heardAnything: boolean): boolean {
  return heardAnything || (details.status === undefined && (kind === 'truncated-stream' || kind === 'timeout' || kind === 'empty'));
}
