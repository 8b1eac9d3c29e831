/** Longer ones are not taken apart: the time grows with the square of the length. */
const mostChars = 1_000;

/**
 * Whether a program of awk only reads its input, prints, and ends: it starts no programs, writes no files and doesn't choose what it reads. It has no
 * loops, no functions and nothing that makes a text longer, and changes variables only by adding numbers, so it prints little more than its input. The
 * number of a field that is assigned may be two billion.
 */
export function isPlainAwkProgram(program: string): boolean {
  if (program.length > mostChars) return false;
  const reaches = /system|getline|close|fflush|ARG|ENVIRON|PROCINFO|SYMTAB|FUNCTAB|text|[|>@]/.test(program.replace(/\|\||>=/g, ''));
  const assigns = /=/.test(program.replace(/[=!<>]=|[-+]=/g, ''));
  const fields = /(\$[^;{}]*|\bNF\s*)(\+\+|--|[-+]=)|(\+\+|--)\s*(\$|NF\b)/.test(program);
  return !reaches && !assigns && !fields && !/\b(while|for|do|func|function|s?printf|g?sub|gensub)\b/.test(program);
}
