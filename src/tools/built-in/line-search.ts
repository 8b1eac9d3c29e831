import { ToolFailure } from '../defining/tool-failure';

/** Steps of one call: comparisons of lines, and the blanks that are compared. About a second, in which the worker does nothing else. */
const mostSteps = 50_000_000;

/** Bounds what one call may cost the worker, whose other threads wait meanwhile. */
export class Effort {
  #left = mostSteps;

  /** Throws `ToolFailure` if the call has spent more than it may. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw tooMuch('Finding the place takes too long, because too many lines of the file are alike');
  }
}

export function tooMuch(problem: string): ToolFailure {
  const message = `${problem}. Nothing was changed. Change less at once, or use a program in the shell.`;
  return new ToolFailure(`Error: ${message}`, { name: 'EditTooLargeError', message });
}

/** The positions from `from` on at which `wanted` occurs in `lines`, also those that overlap. Linear (Knuth, Morris and Pratt). */
export function positionsOf(lines: readonly string[], wanted: readonly string[], from: number, effort: Effort): number[] {
  effort.spend(lines.length - from + wanted.length);
  const borders = bordersOf(wanted);
  const found: number[] = [];
  let matched = 0;
  for (let at = from; at < lines.length; at += 1) {
    while (matched > 0 && (matched === wanted.length || lines[at] !== wanted[matched])) matched = borders[matched - 1] as number;
    if (lines[at] === wanted[matched]) matched += 1;
    if (matched === wanted.length) found.push(at - matched + 1);
  }
  return found;
}

/** For each beginning of `wanted`, the length of the longest shorter one with which it ends. */
function bordersOf(wanted: readonly string[]): number[] {
  const borders = [0];
  let length = 0;
  for (let at = 1; at < wanted.length; at += 1) {
    while (length > 0 && wanted[at] !== wanted[length]) length = borders[length - 1] as number;
    if (wanted[at] === wanted[length]) length += 1;
    borders.push(length);
  }
  return borders;
}
