import type { Arguments } from './command-options';
import type { ShellWord } from './shell-command';

/** `grep` and `sed` need about 1 KB for each repetition of a pattern. */
const mostRepetitions = 50_000;

/** Whether a word, as a pattern, has so many repetitions (`x{1,32000}{1,32000}`) that compiling it would exhaust the memory. */
export function countsFar({ text }: ShellWord): boolean {
  const counts = [...text.matchAll(/\{(\d*),?(\d*)\\?\}/g)].map(([, least, most]) => Math.max(Number(least), Number(most), 1));
  return counts.reduce((product, count) => product * count, text.length) > mostRepetitions;
}

/**
 * Whether a word, as a format, pads or cuts to thousands of characters: `find -printf %1999999999p` prints as much, and a program that reads it may
 * keep it in memory. `%<(9)` and `%w(9,9,9)` are git's.
 */
export function isWide({ text }: ShellWord): boolean {
  return /%[^a-zA-Z%]*\d{4}|%w\([^)]*\d{4}|padding=\d{4}/.test(text);
}

/** The most threads that `rg` may start. */
const mostThreads = 16;
/** Each `$` in a replacement may stand for a whole line. */
const mostReferences = 4;

export function isBoundedRg({ options }: Arguments): boolean {
  return options.every(([name, value = '']) => {
    if (name === 'j' || name === 'threads') return /^\d+$/.test(value) && Number(value) <= mostThreads;
    return !(name === 'r' || name === 'replace') || value.split('$').length - 1 <= mostReferences;
  });
}

/**
 * Whether a program of awk ends, and needs no more memory than its input: it has no loops, no functions, nothing that makes a text longer, and changes
 * variables only by adding numbers. The number of a field that is assigned may be two billion.
 */
export function isBoundedAwk(program: string): boolean {
  const assigns = /=/.test(program.replace(/[=!<>]=|[-+]=/g, ''));
  const fields = /(\$[^;{}]*|\bNF\s*)(\+\+|--|[-+]=)|(\+\+|--)\s*(\$|NF\b)/.test(program);
  return !assigns && !fields && !/\b(while|for|do|func|function|s?printf|g?sub|gensub)\b/.test(program);
}
