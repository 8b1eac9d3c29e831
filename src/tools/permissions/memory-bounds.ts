import type { Arguments } from './command-options';
import type { ShellWord } from './shell-command';

/**
 * Programs that only read can need any amount of memory, by their arguments. On Linux they run with limits (`limited-readers.ts`), so any argument
 * may run without approval. On other systems, only those for which a program needs little more memory than its input.
 */
export function canLimitMemory(): boolean {
  return process.platform === 'linux';
}

/** Whether no argument is a pattern or a format that makes its program need much memory. */
export function areModest(args: readonly ShellWord[]): boolean {
  return canLimitMemory() || !args.some((arg) => countsFar(arg) || isWide(arg));
}

/** `grep` and `sed` need about 1 KB for each repetition of a pattern. */
const mostRepetitions = 50_000;

/** Whether a word, as a pattern, has so many repetitions (`x{1,32000}{1,32000}`) that compiling it would exhaust the memory. */
function countsFar({ text }: ShellWord): boolean {
  const counts = [...text.matchAll(/\{(\d*),?(\d*)\\?\}/g)].map(([, least, most]) => Math.max(Number(least), Number(most), 1));
  return counts.reduce((product, count) => product * count, text.length) > mostRepetitions;
}

/** Whether a word, as a format, pads or cuts to thousands of characters: `%1999999999p` of `find`, `%<(9999)` and `%w(0,9999,9)` of git. */
function isWide({ text }: ShellWord): boolean {
  return /%[^a-zA-Z%]*\d{4}|%w\([^)]*\d{4}|padding=\d{4}/.test(text);
}

/** The most threads that `rg` may start. */
const mostThreads = 16;
/** Each `$` in a replacement may stand for a whole line. */
const mostReferences = 4;

/** Whether `rg` starts few threads, and replaces by little. */
export function isModestRg({ options }: Arguments): boolean {
  if (canLimitMemory()) return true;
  return options.every(([name, value = '']) => {
    if (name === 'j' || name === 'threads') return /^\d+$/.test(value) && Number(value) <= mostThreads;
    return !(name === 'r' || name === 'replace') || value.split('$').length - 1 <= mostReferences;
  });
}
