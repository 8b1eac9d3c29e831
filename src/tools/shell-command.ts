/**
 * Takes a shell command apart into the simple commands it runs, so that each can be held against rules.
 *
 * It reads much less than a shell does, on purpose. What it takes is certain: bash runs exactly these words, and nothing else. Everything
 * that could run, write or expand to something else (`$…`, backticks, new lines, `&`, brackets, braces, write redirects, comments) makes
 * the whole command one that is not understood. A construct is added here only with a proof against a real shell, in the tests.
 */
export type ShellCommand = { understood: true; segments: string[][] } | { understood: false; why: string };

/** The words of each simple command, quotes taken off, redirects from files and between descriptors left out. */
export function splitShellCommand(command: string): ShellCommand {
  try {
    return { understood: true, segments: segmentsOf(command) };
  } catch (error) {
    if (error instanceof NotUnderstood) return { understood: false, why: error.message };
    throw error;
  }
}

/** What is odd about a command, in words that follow "because". Never leaves this file. */
class NotUnderstood extends Error {}

/** Words that begin a command made of commands. */
const keywords = new Set(
  ['if', 'then', 'else', 'elif', 'fi', 'for', 'while', 'until', 'do', 'done'].concat([
    'case',
    'esac',
    'select',
    'function',
    'coproc',
    '!',
    '[',
    '[[',
  ]),
);

export function isKeyword(word: string): boolean {
  return keywords.has(word);
}

const control = /(?![ \t])[\p{C}\p{Z}]/u;
const between = /\|\||&&|\|&|\||;/y;
/** `2>&1` moves no byte to a file. A name after `>&` would. */
const descriptorCopy = /[12]?>&(?:[12]|-)(?=[ \t;|<>]|$)/y;
const readFrom = /<(?![<>&(])/y;

function segmentsOf(command: string): string[][] {
  if (/[\n\r]/.test(command)) throw new NotUnderstood('it has several lines');
  if (control.test(command)) throw new NotUnderstood('it has characters that do not show');
  const segments: string[][] = [];
  let words: string[] = [];
  let at = 0;
  const close = () => {
    if (words.length === 0) throw new NotUnderstood('a command in it is empty');
    if (isKeyword(words[0] ?? '')) throw new NotUnderstood(`it is a compound command (${words[0]})`);
    segments.push(words);
    words = [];
  };

  while (true) {
    at = skipBlanks(command, at);
    if (at === command.length) break;
    const operator = matchAt(between, command, at);
    if (operator !== undefined) {
      close();
      at += operator.length;
      if (operator === ';' && skipBlanks(command, at) === command.length) return segments;
      continue;
    }
    if (matchAt(/\d*[<>]|&/y, command, at) !== undefined) {
      at = skipRedirect(command, at);
      continue;
    }
    const { word, end } = readWord(command, at);
    words.push(word);
    at = end;
  }
  close();
  return segments;
}

/** Returns where the redirect ends. */
function skipRedirect(command: string, start: number): number {
  const copy = matchAt(descriptorCopy, command, start);
  if (copy !== undefined) return start + copy.length;
  const at = start + (matchAt(/\d+/y, command, start)?.length ?? 0);
  if (matchAt(readFrom, command, at) !== undefined) {
    const { word, end } = readWord(command, skipBlanks(command, at + 1));
    // bash opens a connection to these.
    if (/^\/dev\/(tcp|udp)\//.test(word)) throw new NotUnderstood('it opens a connection');
    return end;
  }
  if (command[at] === '>' || command.startsWith('&>', at)) throw new NotUnderstood('it writes to a file');
  throw new NotUnderstood(command[at] === '&' ? 'it runs something in the background' : 'it has a redirect that is not read');
}

/** What stands for itself outside quotes. The glob characters are looked at more closely below. */
const plain = /[\w./,:=@%+~^\]!*?[#-]|[^\0-\x7f]/;

function readWord(command: string, start: number): { word: string; end: number } {
  let word = '';
  let at = start;
  while (at < command.length) {
    const char = command[at] ?? '';
    if (/[ \t|&;<>]/.test(char)) break;
    if (char === "'") {
      const end = command.indexOf("'", at + 1);
      if (end === -1) throw new NotUnderstood('a quote in it is not closed');
      word += command.slice(at + 1, end);
      at = end + 1;
    } else if (char === '"') {
      const quoted = readDoubleQuoted(command, at + 1);
      word += quoted.text;
      at = quoted.end;
    } else if (char === '\\') {
      if (at + 1 === command.length) throw new NotUnderstood('it ends in a backslash');
      word += command[at + 1];
      at += 2;
    } else {
      if (!plain.test(char)) throw new NotUnderstood(`it has a ${char} that is not read`);
      if (char === '#' && at === start) throw new NotUnderstood('it has a comment');
      // The name of a file that matches could be an option.
      if (/[*?[]/.test(char) && (word === '' || word.startsWith('-'))) throw new NotUnderstood('a pattern in it could become an option');
      word += char;
      at += 1;
    }
  }
  if (at === start) throw new NotUnderstood('a word is missing in it');
  return { word, end: at };
}

function readDoubleQuoted(command: string, start: number): { text: string; end: number } {
  let text = '';
  let at = start;
  while (at < command.length) {
    const char = command[at] ?? '';
    const next = command[at + 1] ?? '';
    if (char === '"') return { text, end: at + 1 };
    if (char === '`' || (char === '$' && !/[" |)]/.test(next))) throw new NotUnderstood(`it has a ${char} that is not read`);
    const escapes = char === '\\' && /[$`"\\]/.test(next);
    text += escapes ? next : char;
    at += escapes ? 2 : 1;
  }
  throw new NotUnderstood('a quote in it is not closed');
}

function skipBlanks(command: string, at: number): number {
  return at + (matchAt(/[ \t]+/y, command, at)?.length ?? 0);
}

function matchAt(sticky: RegExp, text: string, at: number): string | undefined {
  sticky.lastIndex = at;
  return sticky.exec(text)?.[0];
}

/**
 * Word lists that may be commands within a command that is not understood: far too many rather than one too few. It is cut wherever a shell
 * could begin a command, once with quotes taken away and once with quotes as borders.
 */
export function roughSegments(command: string): string[][] {
  const joined = command.replace(/\\\r?\n/g, '').replace(/['"\\]/g, '');
  const bordered = command.replace(/['"]/g, '\n').replace(/\\/g, '');
  return [joined, bordered]
    .flatMap((text) => text.split(/[\n\r;|&(){}<>`$]/))
    .map((text) => text.split(/\s+/).filter((word) => word !== ''))
    .filter((words) => words.length > 0);
}
