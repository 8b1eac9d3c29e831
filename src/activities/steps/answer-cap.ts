import { failureTypes } from '../../contract/activities';
import { bounds } from '../../core/bounds';
import type { ModelDelta } from '../../models/model';

/** Aborts a model call whose answer is larger than a thread can store, so that the rest is not paid for. */
export interface AnswerCap {
  signal: AbortSignal;
  /** Counts the characters that arrive. The bytes of the whole answer are checked when it is complete. */
  count(delta: ModelDelta): void;
}

export function answerCap(cancelled: AbortSignal): AnswerCap {
  const controller = new AbortController();
  let size = 0;
  return {
    signal: AbortSignal.any([cancelled, controller.signal]),
    count(delta) {
      if (delta.type === 'text' || delta.type === 'compaction') size += delta.text.length;
      if (delta.type === 'tool-call') size += delta.arguments?.length ?? 0;
      if (size > bounds.answerBytes) controller.abort(Object.assign(new Error(words), { name: failureTypes.tooLarge }));
    },
  };
}

const words = `The model's answer has more than ${bounds.answerBytes} bytes of JSON, which is the most that fits into a thread. It was stopped: bound it with settings.maxTokens, or have the model write what is long with a tool`;
