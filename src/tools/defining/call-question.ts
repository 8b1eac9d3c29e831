import type { ToolQuestion } from '../../core/questions';
import { hasMark } from './mark';

const mark = Symbol.for('longhaul.CallQuestion');

/** Thrown by `execute`: the call ends here, and runs again once a person has answered the question. */
export class CallQuestion extends Error {
  readonly [mark] = true;
  override readonly name = 'CallQuestion';

  constructor(readonly question: ToolQuestion) {
    super('The call asks a person a question.');
  }
}

/** Not `instanceof`, which fails across two copies of the package or a test runner's realms. */
export function isCallQuestion(value: unknown): value is CallQuestion {
  return hasMark(value, mark);
}
