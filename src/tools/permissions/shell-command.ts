import { forEachChild, type PipelineNode, parse, type Redirection, type SyntaxNode, type Word, type WordPart } from 'unbash';
import { bounds } from '../../core/bounds';

/**
 * The simple commands of a shell command, so that each can be matched against rules.
 *
 * A bash parser supplies the grammar. Of its syntax tree, only a small part of the language is accepted: simple commands of literal words,
 * joined by pipes, `&&`, `||` and `;`. For an accepted command, bash runs exactly these words and nothing else. Any construct that could
 * run, write or expand to something else makes the whole command not understood. A construct may be added here only with tests that
 * compare it with a real shell. `conditional`: some commands run only if others succeeded or failed.
 */
export type ShellCommand = { understood: true; commands: SimpleCommand[]; conditional: boolean } | { understood: false; why: string };

export interface SimpleCommand {
  /** The program and its arguments, without quotes. */
  words: ShellWord[];
  /** Files that it reads through `<`. */
  inputs: string[];
  /** Whether its input comes from the command before it. */
  piped: boolean;
  /** Where its first word begins in the text. */
  at: number;
}

export interface ShellWord {
  text: string;
  /** Whether it is a pattern, which bash replaces by the names of matching files. No match begins with a dash. */
  glob: boolean;
}

/** The parser scans all of them again for each further one. */
const mostHereDocuments = 20;

export function readShellCommand(command: string): ShellCommand {
  try {
    if (command.length > bounds.commandChars) throw new NotUnderstood(`it has more than ${bounds.commandChars} characters`);
    if (/[\n\r]/.test(command)) throw new NotUnderstood('it has several lines');
    if (command.split('<<').length - 1 > mostHereDocuments) throw new NotUnderstood('it has many here-documents');
    if (/(?![ \t])[\p{C}\p{Z}]/u.test(command)) throw new NotUnderstood('it has characters that do not show');
    return { understood: true, ...commandsOf(command) };
  } catch (error) {
    if (error instanceof NotUnderstood) return { understood: false, why: error.message };
    throw error;
  }
}

/** Why a command is not understood, as a clause. Caught in this file. */
class NotUnderstood extends Error {}

function commandsOf(source: string): { commands: SimpleCommand[]; conditional: boolean } {
  const script = parse(source);
  if (script.errors?.[0]) throw new NotUnderstood(`it is not a complete command (${script.errors[0].message})`);
  const commands: SimpleCommand[] = [];
  const spans: Span[] = [];
  for (const { command, background } of script.commands) {
    if (background) throw new NotUnderstood('it runs something in the background');
    const parts = command.type === 'AndOr' ? command.commands : [command];
    commands.push(...parts.flatMap((part) => pipelineOf(part, spans)));
  }
  if (commands.length === 0) throw new NotUnderstood('a command in it is empty');
  if (commands.length > bounds.commandParts) throw new NotUnderstood(`it has more than ${bounds.commandParts} parts`);
  refuseWhatIsBetween(source, spans);
  return { commands, conditional: script.commands.some(({ command }) => command.type === 'AndOr') };
}

interface Span {
  pos: number;
  end: number;
}

/** Rejects text that is not in the tree, such as comments: between words, only blanks and one operator are allowed. */
function refuseWhatIsBetween(source: string, spans: Span[]): void {
  let at = 0;
  for (const { pos, end } of [...spans].sort((a, b) => a.pos - b.pos)) {
    const between = at === 0 ? /^[ \t]*$/ : /^[ \t]*(\|\||&&|\|&|\||;)?[ \t]*$/;
    if (pos < at || !between.test(source.slice(at, pos)))
      throw new NotUnderstood('it has something between its words that the check does not cover');
    at = end;
  }
  if (!/^[ \t]*;?[ \t]*$/.test(source.slice(at))) throw new NotUnderstood('it has a comment');
}

function pipelineOf(node: PipelineNode, spans: Span[]): SimpleCommand[] {
  if (node.type !== 'Pipeline') return [simpleCommand(node, false, spans)];
  if (node.prefixes[0]) throw new NotUnderstood(`it is a compound command (${node.prefixes[0].type})`);
  return node.commands.map((command, at) => simpleCommand(command, at > 0, spans));
}

function simpleCommand(node: PipelineNode, piped: boolean, spans: Span[]): SimpleCommand {
  if (node.type !== 'Command') throw new NotUnderstood(`it is a compound command (${node.type})`);
  const words: ShellWord[] = [];
  const inputs: string[] = [];
  for (const part of [...node.prefix, ...(node.name ? [node.name] : []), ...node.suffix]) {
    spans.push(part);
    if (part.type === 'Word') words.push(wordOf(part));
    else if (part.type === 'Assignment') throw new NotUnderstood('it sets a variable');
    else inputs.push(...inputOf(part));
  }
  if (words.length === 0) throw new NotUnderstood('a command in it is empty');
  if (words[0]?.glob) throw new NotUnderstood('its program is a pattern');
  return { words, inputs, piped, at: (node.name ?? node).pos };
}

/** The file that a redirect reads. `2>&1` reads nothing and writes nothing to a file. */
function inputOf(redirect: Redirection): string[] {
  if (redirect.type !== 'Redirect' || redirect.descriptor?.type === 'FileDescriptorVariable' || !redirect.target) {
    throw new NotUnderstood('it has a redirect that the check does not cover');
  }
  const { operator, descriptor, target } = redirect;
  if (operator === '>&' && [1, 2].includes(descriptor?.value ?? 1) && /^[12-]$/.test(target.text)) return [];
  if (operator === '<' && [0].includes(descriptor?.value ?? 0)) {
    const { text, glob } = wordOf(target);
    if (glob) throw new NotUnderstood('an input file is a pattern');
    // bash opens a connection for these paths.
    if (/^\/dev\/(tcp|udp)\//.test(text)) throw new NotUnderstood('it opens a connection');
    return [text];
  }
  throw new NotUnderstood(operator.includes('>') ? 'it writes to a file' : 'it has a redirect that the check does not cover');
}

function wordOf(word: Word): ShellWord {
  const pieces = word.parts ? word.parts.map(pieceOf) : [unquoted(word.text)];
  const text = pieces.map((piece) => piece.text).join('');
  // Two parsings of the same word: if they differ, one of them is wrong.
  if (text !== word.value) throw new NotUnderstood('it has quotes that are not read');
  const glob = pieces.some((piece) => piece.glob);
  if (glob) {
    const fixed = pieces.slice(0, pieces.findIndex((piece) => piece.glob) + 1).map((piece) => (piece.glob ? piece.fixed : piece.text));
    // The name of a matching file could be an option.
    if (fixed.join('') === '' || text.startsWith('-')) throw new NotUnderstood('a pattern in it could become an option');
  }
  if (/(^|[:=])~/.test(word.text)) throw new NotUnderstood('it has a ~ that expands to a folder');
  return { text, glob };
}

interface Piece extends ShellWord {
  /** The text before a pattern in the piece. */
  fixed: string;
}

function pieceOf(part: WordPart): Piece {
  switch (part.type) {
    case 'Literal':
    case 'Glob':
      return unquoted(part.text);
    case 'SingleQuoted':
      return literally(part.text.slice(1, -1));
    case 'DoubleQuoted':
      return literally(part.parts.map(doubleQuoted).join(''));
    default:
      throw new NotUnderstood(`it has a ${part.text[0] ?? part.type} that the check does not cover`);
  }
}

const literally = (text: string): Piece => ({ text, glob: false, fixed: text });

/** Characters that are literal outside quotes, and the characters of patterns. */
const plain = /[\w./,:=@%+~^\]!*?[#-]|[^\0-\x7f]/;

function unquoted(source: string): Piece {
  let text = '';
  let fixed: string | undefined;
  for (let at = 0; at < source.length; at += 1) {
    let char = source[at] ?? '';
    if (char === '\\') {
      at += 1;
      if (at === source.length) throw new NotUnderstood('it ends in a backslash');
      char = source[at] ?? '';
    } else if (!plain.test(char)) throw new NotUnderstood(`it has a ${char} that the check does not cover`);
    else if (/[*?[]/.test(char)) fixed ??= text;
    text += char;
  }
  return { text, glob: fixed !== undefined, fixed: fixed ?? text };
}

function doubleQuoted(part: { type: string; text: string }): string {
  if (part.type !== 'Literal' || /(?<!\\)(\\\\)*(`|\$(?![" |)]|$))/.test(part.text))
    throw new NotUnderstood('it has a $ that the check does not cover');
  return part.text.replace(/\\([$`"\\])/g, '$1');
}

/**
 * Word lists that may be commands anywhere within a command, whether it is understood or not; false positives are intended. They are the commands
 * of the syntax tree, including nested ones. Because quoted text may be run too, they also include the text split wherever a shell could begin a
 * command, once with quotes removed and once with quotes as separators. `whole`: the tree was examined too.
 */
export function roughCommands(command: string, braces: BraceBudget): { lists: string[][]; whole: boolean } {
  const joined = command.replace(/\\\r?\n/g, '').replace(/['"\\]/g, '');
  const bordered = command.replace(/['"]/g, '\n').replace(/\\/g, '');
  const cut = [...new Set([joined, bordered])]
    .flatMap((text) => text.split(/[\n\r;|&(){}<>`$]/))
    .map((text) => text.split(/\s+/).filter((word) => word !== ''));
  const nested = nestedCommands(command);
  const lists = [...(nested ?? []), ...cut]
    .filter((words) => words.length > 0)
    .map((words) => words.flatMap((word) => withoutBraces(word, braces)));
  return { lists, whole: nested !== undefined };
}

/** The parser reads nested text once per level. For a command with more levels than this, only the split text is used. */
const mostNested = 300;

/** Returns `undefined` if there may be too many levels. */
function nestedCommands(source: string): string[][] | undefined {
  if ((source.match(/[$`(<>]/g)?.length ?? 0) > mostNested) return undefined;
  const found: string[][] = [];
  const visit = (node: SyntaxNode): void => {
    if (node.type === 'Command') {
      const set = node.prefix.flatMap((part) =>
        part.type === 'Assignment' && part.value.type === 'Word' ? [`${part.name}=${part.value.value}`] : [],
      );
      found.push([
        ...set,
        ...(node.name ? [node.name.value] : []),
        ...node.args.map((arg) => (arg.type === 'Word' ? arg.value : arg.text)),
      ]);
    }
    forEachChild(node, visit);
  };
  visit(parse(source));
  return found;
}

/** How many characters brace expansion may still produce. Below zero the budget is exhausted, and some braces are left unexpanded. */
export interface BraceBudget {
  left: number;
}

/** Brace expansion as in bash for `{a,b}` and `{a..c}`. `{,}` gives no words. */
function withoutBraces(word: string, budget: BraceBudget): string[] {
  if (!word.includes('{')) return [word];
  const words: string[] = [];
  const waiting = [word];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const choices = budget.left < 0 ? undefined : withoutOneBrace(next, budget);
    if (choices) waiting.push(...choices.reverse());
    else words.push(next);
  }
  return words.filter((each) => each !== '');
}

/** Expands the outermost braces that have an expansion. */
function withoutOneBrace(word: string, budget: BraceBudget): string[] | undefined {
  const opened: { at: number; commas: number[] }[] = [];
  let found: { from: number; to: number; choices: string[] } | undefined;
  budget.left -= word.length;
  for (let at = 0; at < word.length && !(found && opened.length === 0); at += 1) {
    if (word[at] === '{') opened.push({ at, commas: [] });
    else if (word[at] === ',') opened.at(-1)?.commas.push(at);
    const closed = word[at] === '}' ? opened.pop() : undefined;
    const choices = closed && choicesOf(word, closed.at, closed.commas, at, budget);
    if (choices) found = { from: closed.at, to: at, choices };
  }
  return found?.choices.map((choice) => word.slice(0, found.from) + choice + word.slice(found.to + 1));
}

function choicesOf(word: string, from: number, commas: number[], to: number, budget: BraceBudget): string[] | undefined {
  if (commas.length > 0) {
    // Charged before the copying, because thousands of choices of a long word would all be copied.
    budget.left -= commas.length * (word.length - (to - from));
    return budget.left < 0 ? undefined : [from, ...commas].map((start, at) => word.slice(start + 1, commas[at] ?? to));
  }
  return sequenceOf(word.slice(from + 1, to), word.length, budget);
}

/** Letters or numbers, with a step: `a..c`, `1..9..2`, `01..10`. */
function sequenceOf(inner: string, length: number, budget: BraceBudget): string[] | undefined {
  const [, from = '', to = '', step = '1'] =
    /^([a-zA-Z])\.\.([a-zA-Z])(?:\.\.(-?\d+))?$/.exec(inner) ?? /^([-+]?\d+)\.\.([-+]?\d+)(?:\.\.(-?\d+))?$/.exec(inner) ?? [];
  if (from === '') return undefined;
  const isNumber = /\d/.test(from);
  const numberOf = (text: string) => (isNumber ? Number(text) : text.charCodeAt(0));
  const width = /^[-+]?0\d/.test(from) || /^[-+]?0\d/.test(to) ? Math.max(from.length, to.length) : 0;
  const [first, last, by] = [numberOf(from), numberOf(to), Math.abs(Number(step)) || 1];
  const count = Math.floor(Math.abs(last - first) / by) + 1;
  budget.left -= count * length;
  if (budget.left < 0) return undefined;
  const textOf = (value: number) => (isNumber ? padded(value, width) : String.fromCharCode(value));
  return Array.from({ length: count }, (_, at) => textOf(first + (last < first ? -at : at) * by));
}

function padded(value: number, width: number): string {
  return value < 0 ? `-${String(-value).padStart(width - 1, '0')}` : String(value).padStart(width, '0');
}
