import type { ShellWord } from './shell-command';

/** The options of a program that are known to do nothing but change what it prints. No value of theirs names a file. */
export interface KnownOptions {
  /** Letters of options without a value. */
  flags?: string;
  /** Letters of options with a value, attached or as the next word. */
  values?: string;
  /** Names of long options without a value, or with one behind `=`. */
  long?: string;
  /** Names of long options with a value, behind `=` or as the next word. */
  longValues?: string;
  /** Other words that are options, such as `-20`. */
  other?: RegExp;
  /** How many operands come before those that are paths, as the pattern of `grep`; none where one of the options `unless` gives them. */
  texts?: number;
  unless?: string;
  /** `none`: the program takes none. `paths`, the default: all behind `texts` are paths. */
  operands?: 'none' | 'paths';
  /** Options end with the first operand. */
  ordered?: boolean;
}

export interface Arguments {
  /** Names of the options that are given, with their values, in their order. */
  options: [name: string, value: string | undefined][];
  texts: string[];
  /** What the program may take for a path. */
  paths: ShellWord[];
}

/** Takes arguments apart; `undefined` where one is not known. Abbreviations of options are not. */
export function readArguments(args: readonly ShellWord[], known: KnownOptions): Arguments | undefined {
  const found: Arguments = { options: [], texts: [], paths: [] };
  const operands: ShellWord[] = [];
  let ended = false;
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] as ShellWord;
    if (ended || arg.glob || !arg.text.startsWith('-') || arg.text === '-') {
      operands.push(arg);
      continue;
    }
    // Some systems stop reading options at the first operand.
    if (operands.length > 0 && known.ordered) return undefined;
    if (arg.text === '--') {
      ended = true;
      continue;
    }
    const options = optionsIn(arg.text, known);
    if (!options) return undefined;
    found.options.push(...options.found);
    if (!options.wantsValue) continue;
    const value = args[(at += 1)];
    if (!value || value.glob) return undefined;
    found.options.push([options.wantsValue, value.text]);
    // There, what is a value here would be a path; and of long options some have a value elsewhere only behind `=`.
    if (operands.length > 0 || options.wantsValue.length > 1) found.paths.push(value);
  }
  const texts = found.options.some(([name]) => known.unless?.split(' ').includes(name)) ? 0 : (known.texts ?? 0);
  const isUsable = known.operands === 'none' ? operands.length === 0 : operands.slice(0, texts).every(({ glob }) => !glob);
  found.texts.push(...operands.slice(0, texts).map(({ text }) => text));
  found.paths.push(...operands.slice(texts));
  return isUsable ? found : undefined;
}

function optionsIn(text: string, known: KnownOptions): { found: Arguments['options']; wantsValue?: string } | undefined {
  if (known.other?.test(text)) return { found: [[text, undefined]] };
  if (text.startsWith('--')) return longOption(text, known);
  const found: Arguments['options'] = [];
  for (let at = 1; at < text.length; at += 1) {
    const letter = text[at] ?? '';
    if (known.values?.includes(letter)) {
      const value = text.slice(at + 1);
      return value === '' ? { found, wantsValue: letter } : { found: [...found, [letter, value]] };
    }
    if (!known.flags?.includes(letter)) return undefined;
    found.push([letter, undefined]);
  }
  return { found };
}

function longOption(text: string, { long = '', longValues = '' }: KnownOptions): ReturnType<typeof optionsIn> {
  const [, name = '', value] = /^--([^=]+)(?:=(.*))?$/s.exec(text) ?? [];
  if (name === '') return undefined;
  if (long.split(' ').includes(name)) return { found: [[name, value]] };
  if (!longValues.split(' ').includes(name)) return undefined;
  return value === undefined ? { found: [], wantsValue: name } : { found: [[name, value]] };
}
