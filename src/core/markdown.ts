import { printable, printableLine } from './printable';

/**
 * A piece of a Markdown page for the Web UI. It consists of the engine's own markup and of untrusted text, which is escaped: the text can't
 * become a link, image, HTML, emphasis, heading or list. One exception remains: the Web UI replaces `{namespace}`, `{workflowId}` and `{runId}`,
 * also in code, because any character that prevented this would be copied along with the text.
 */
export class Markdown {
  readonly #source: string;

  private constructor(source: string) {
    this.#source = source;
  }

  /** The template is markup; the values are text. A value must not begin a line, where a digit or a dash would also be markup. */
  static of(words: TemplateStringsArray, ...values: (Markdown | string | number)[]): Markdown {
    return new Markdown(words.map((part, i) => (i === 0 ? part : sourceOf(values[i - 1] ?? '') + part)).join(''));
  }

  static join(parts: readonly Markdown[], separator: string): Markdown {
    return new Markdown(parts.map(sourceOf).join(separator));
  }

  /** For ids, names and other text to be copied. */
  static code(text: string): Markdown {
    return new Markdown(codeSpan(text));
  }

  /** For places that show either Markdown or its source: text that looks the same in both stays unchanged, other text becomes code. */
  static literal(text: string): Markdown {
    const line = printableLine(text);
    // A line that begins with a letter can't begin a list or other markup.
    return new Markdown(/^\p{L}/u.test(line) && plain(line) === line ? line : codeSpan(text));
  }

  static block(text: string): Markdown {
    const fence = fenceFor(text, 3);
    return new Markdown(`${fence}\n${printable(text)}\n${fence}`);
  }

  toString(): string {
    return this.#source;
  }
}

export const markdown = Markdown.of;

function sourceOf(value: Markdown | string | number): string {
  return value instanceof Markdown ? value.toString() : plain(String(value));
}

/** Escapes text. Words with an address become code, because some renderers turn bare addresses into links even if escaped. */
function plain(text: string): string {
  const line = printableLine(text);
  if (!address.test(line)) return escaped(line);
  return line
    .split(' ')
    .map((word) => (address.test(word) ? codeSpan(word) : escaped(word)))
    .join(' ');
}

const address = /:\/\/|www\.|@/i;

function escaped(line: string): string {
  return line.replace(/[\\`*_{}[\]<>#!|~&$^]/g, '\\$&');
}

function codeSpan(text: string): string {
  const line = printableLine(text);
  const fence = fenceFor(line, 1);
  // Markdown strips one blank on each side of a code span.
  const padded = line === '' || /^[` ]|[` ]$/.test(line) ? ` ${line} ` : line;
  return `${fence}${padded}${fence}`;
}

function fenceFor(text: string, least: number): string {
  const longest = (text.match(/`+/g) ?? []).reduce((most, { length }) => Math.max(most, length), 0);
  return '`'.repeat(Math.max(least, longest + 1));
}
