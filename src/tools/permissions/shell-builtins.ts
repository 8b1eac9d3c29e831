import type { ShellWord } from './shell-command';

/** Shell builtins. Most of them change the shell, and so what later commands do, or run their arguments. */
const builtins = new Set(
  [
    '. : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo enable eval exec exit',
    'export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly return',
    'set shift shopt source suspend test times trap true type typeset ulimit umask unalias unset wait',
  ]
    .join(' ')
    .split(' '),
);

/** Builtins that change nothing with such arguments. */
const plain: Record<string, (words: readonly string[]) => boolean> = {
  echo: () => true,
  true: () => true,
  false: () => true,
  pwd: () => true,
  ':': () => true,
  test: testsOnly,
  '[': testsOnly,
  // `-v` and `%n` set a variable.
  printf: (words) => !(words[0]?.startsWith('-') && words[0] !== '--') && !words.some((word) => /%[^%A-Za-z]*[hlLjzt]*n/.test(word)),
};

/** An array index is an arithmetic expression, which may set variables and run commands. */
function testsOnly(words: readonly string[]): boolean {
  return !words.some((word) => word === '-v' || word === '-R' || word.includes('['));
}

/** Whether a command may change the shell that runs it. A builtin is named without a folder: `/usr/bin/printf` is a program. */
export function changesShell([program, ...args]: readonly ShellWord[]): boolean {
  const name = program?.text ?? '';
  if (!builtins.has(name)) return false;
  return !(Object.hasOwn(plain, name) && plain[name]?.(args.map(({ text }) => text)));
}

/** Whether an argument has a command in an array index, which bash runs even if it is quoted. */
export function runsAnIndex(words: readonly ShellWord[]): boolean {
  return changesShell(words) && words.some(({ text }) => /\[.*[$`]/.test(text));
}
