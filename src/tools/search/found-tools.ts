import type { ToolSize } from '../../core/loaded-tools';
import { hasMark } from '../defining/mark';

const mark = Symbol.for('longhaul.FoundTools');

/** The return value of a tool that has tools sent to the model from the next request on. */
export interface FoundTools {
  readonly result: string;
  readonly tools: readonly ToolSize[];
}

export function foundTools(result: string, tools: readonly ToolSize[]): FoundTools {
  return Object.freeze({ [mark]: true, result, tools });
}

export function isFoundTools(value: unknown): value is FoundTools {
  return hasMark(value, mark);
}
