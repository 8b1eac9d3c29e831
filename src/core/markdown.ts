import { printable, printableLine } from './printable';

/**
 * A piece of a page in Markdown, as the Web UI renders one. It is made of our own words, and of what others said without any meaning as
 * markup: no link, image, HTML, emphasis, heading or list can come of it. Only `{namespace}`, `{workflowId}` and `{runId}` the Web UI
 * replaces, also in code: any character that broke such a word would be copied with it.
 */
export class Markdown {
  readonly #source: string;

  private constructor(source: string) {
    this.#source = source;
  }

  /** Our own words are markup; values are text. Text must not begin a line, where a digit or a dash would be markup, too. */
  static of(words: TemplateStringsArray, ...values: (Markdown | string | number)[]): Markdown {
    return new Markdown(words.map((part, i) => (i === 0 ? part : sourceOf(values[i - 1] ?? '') + part)).join(''));
  }

  static join(parts: readonly Markdown[], separator: string): Markdown {
    return new Markdown(parts.map(sourceOf).join(separator));
  }

  /** Ids, names and whatever is to be copied. */
  static code(text: string): Markdown {
    return new Markdown(codeSpan(text));
  }

  /** For pages of which some show Markdown and others the source: text that both show alike stays as it is, any other is code. */
  static literal(text: string): Markdown {
    const line = printableLine(text);
    // Only a letter begins no list, and nothing else.
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

/** Some renderers make links of bare addresses even where each character is escaped; none does so within code. */
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
  // One blank on both sides is no part of the code.
  const padded = line === '' || /^[` ]|[` ]$/.test(line) ? ` ${line} ` : line;
  return `${fence}${padded}${fence}`;
}

function fenceFor(text: string, least: number): string {
  const longest = (text.match(/`+/g) ?? []).reduce((most, { length }) => Math.max(most, length), 0);
  return '`'.repeat(Math.max(least, longest + 1));
}
