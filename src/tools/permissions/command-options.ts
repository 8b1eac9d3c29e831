import type { ShellWord } from './shell-command';

/** Options of a program that are known to change only what it prints. None of their values names a file. */
export interface KnownOptions {
  /** Letters of options without a value. */
  flags?: string;
  /** Letters of options with a value, attached or as the next word. */
  values?: string;
  /** Names of long options without a value, or with one after `=`. */
  long?: string;
  /** Names of long options with a value, after `=` or as the next word. */
  longValues?: string;
  /** Other option words, such as `-20`. */
  other?: RegExp;
  /** How many operands come before the paths, such as the pattern of `grep`; none if one of the options `unless` is given. */
  texts?: number;
  unless?: string;
  /** `none`: the program takes no operands. `paths`, the default: all after `texts` are paths. */
  operands?: 'none' | 'paths';
  /** Whether options end with the first operand. */
  ordered?: boolean;
}

export interface Arguments {
  /** The given options with their values, in order. */
  options: [name: string, value: string | undefined][];
  texts: string[];
  /** Words that the program may treat as paths. */
  paths: ShellWord[];
}

/** Parses arguments. Returns `undefined` if an option is unknown; abbreviated options are unknown. */
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
    // Some systems stop parsing options at the first operand.
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
    // On such systems this value would be a path. And some long options take a value only after `=` on other systems.
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
