import { setImmediate as nextTurn } from 'node:timers/promises';
import { Parser } from 'htmlparser2';
import { fewAtOnce } from '../running/few-at-once';

/** Deeper pages are no texts, and would make the parser slow: it searches its open elements for each end tag. */
const maxDepth = 1_000;
/** Other work of the process runs between two pieces. */
const pieceChars = 16_384;
const maxMs = 2_000;
/** A short link can have a long address, so text may be much longer than its page. */
const maxTextChars = 4_000_000;
/** Longer attributes are no descriptions and no addresses that are shown. */
const maxAltChars = 1_000;
const maxHrefChars = 2_000;

const hidden = new Set([
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'head',
  'title',
  'iframe',
  'object',
  'canvas',
  'select',
  'textarea',
  'button',
]);
const blocks = new Set(
  'address article aside blockquote dd details div dl dt fieldset figcaption figure footer form header hr main nav ol p section summary table tr ul'.split(
    ' ',
  ),
);

/** The page is nested too deeply, or takes too long to read. */
export class UnreadablePageError extends Error {
  override readonly name = 'UnreadablePageError';
}

/** Conversions of one process run one after another: at the same time, all would be slow, and none might end within the time of its call. */
const inTurn = fewAtOnce(1);

/**
 * Converts HTML to text in the style of Markdown: headings, lists, links with absolute addresses, rows of tables and preformatted text. Scripts,
 * styles and forms are left out. `base` resolves links. Stops after 4,000,000 characters (`isCut`). Rejects with `UnreadablePageError` after 2 s of
 * work on this page, or beyond 1,000 levels; and if `signal` is aborted.
 */
export function readableText(html: string, base: URL, signal?: AbortSignal): Promise<ReadableText> {
  return inTurn(() => converted(html, base, signal));
}

interface ReadableText {
  title: string;
  text: string;
  isCut: boolean;
}

async function converted(html: string, base: URL, signal: AbortSignal | undefined): Promise<ReadableText> {
  const page = new PageText(base);
  const parser = new Parser(page, { lowerCaseTags: true, decodeEntities: true });
  let spentMs = 0;
  for (let at = 0; at < html.length && !page.isFull; at += pieceChars) {
    signal?.throwIfAborted();
    if (spentMs > maxMs) throw new UnreadablePageError('the page takes too long to convert');
    const begun = performance.now();
    parser.write(html.slice(at, at + pieceChars));
    spentMs += performance.now() - begun;
    await nextTurn();
  }
  parser.end();
  return { title: page.title.replace(/\s+/g, ' ').trim(), text: page.text(), isCut: page.isFull };
}

/** Receives the parser's events, and collects text. */
class PageText {
  title = '';
  /** Whether there was more text than is collected. */
  isFull = false;
  #chars = 0;
  readonly #out: string[] = [];
  readonly #open: string[] = [];
  /** The link that is open, and how much text there was before it. */
  #link: { url: string; from: number } | undefined;
  #hidden = 0;
  #preformatted = 0;
  #lists = 0;
  /** Line breaks and a blank that come before the next text. */
  #breaks = 0;
  #blank = false;

  constructor(private readonly base: URL) {}

  text(): string {
    return this.#out.join('').trim();
  }

  onopentag(name: string, attributes: Record<string, string>): void {
    this.#open.push(name);
    if (this.#open.length > maxDepth) throw new UnreadablePageError(`the page is nested deeper than ${maxDepth} levels`);
    if (hidden.has(name)) this.#hidden++;
    if (this.#hidden > 0) return;
    if (name === 'br') this.#break(1);
    else if (blocks.has(name)) this.#break(isTight(name) ? 1 : 2);
    if (/^h[1-6]$/.test(name)) {
      this.#break(2);
      this.#say(`${'#'.repeat(Number(name[1]))} `);
    } else if (name === 'li') {
      this.#break(1);
      this.#say(`${'  '.repeat(Math.min(Math.max(0, this.#lists - 1), 10))}- `);
    } else if (name === 'td' || name === 'th') this.#cell();
    else if (name === 'pre') {
      this.#break(2);
      this.#say('```\n');
      this.#preformatted++;
    } else if (name === 'a') this.#link = this.#linkTo(attributes.href);
    if (name === 'ul' || name === 'ol') this.#lists++;
    if (name === 'img') this.#image(attributes.alt ?? '');
  }

  onclosetag(name: string): void {
    this.#open.pop();
    if (hidden.has(name)) this.#hidden--;
    if (this.#hidden > 0) return;
    if (name === 'a') this.#endLink();
    if (name === 'pre') {
      this.#preformatted--;
      this.#say('\n```');
      this.#break(2);
    }
    if (name === 'ul' || name === 'ol') this.#lists--;
    if (/^h[1-6]$/.test(name)) this.#break(2);
    else if (blocks.has(name)) this.#break(isTight(name) ? 1 : 2);
  }

  ontext(text: string): void {
    if (this.#open.at(-1) === 'title' && this.title.length < 1_000) this.title += text;
    if (this.#hidden > 0) return;
    if (this.#preformatted > 0) this.#say(text);
    else this.#words(text);
  }

  /** Text whose blanks and line breaks only separate words. */
  #words(text: string): void {
    const words = text.replace(/\s+/g, ' ');
    if (words.startsWith(' ')) this.#blank = true;
    if (words.trim() !== '') this.#say(words.trim());
    if (words.endsWith(' ')) this.#blank = true;
  }

  #image(alt: string): void {
    const words = alt.slice(0, maxAltChars).trim();
    if (words !== '') this.#words(`[image: ${words}${alt.length > maxAltChars ? '…' : ''}]`);
  }

  #say(text: string): void {
    if (this.#breaks > 0) this.#push('\n'.repeat(this.#breaks));
    else if (this.#blank && !this.#endsInBlank()) this.#push(' ');
    this.#breaks = 0;
    this.#blank = false;
    this.#push(text);
  }

  #push(text: string): void {
    this.#chars += text.length;
    if (this.#chars > maxTextChars) this.isFull = true;
    else this.#out.push(text);
  }

  #break(lines: 1 | 2): void {
    if (this.#out.length > 0) this.#breaks = Math.max(this.#breaks, lines);
    this.#blank = false;
  }

  #endsInBlank(): boolean {
    return /\s$/.test(this.#out.at(-1) ?? ' ');
  }

  #cell(): void {
    if (this.#breaks === 0) this.#say(' | ');
  }

  #linkTo(href: string | undefined): { url: string; from: number } | undefined {
    const url = href === undefined || href.length > maxHrefChars || href.startsWith('#') ? undefined : absolute(href, this.base);
    return url === undefined ? undefined : { url, from: this.#out.length };
  }

  #endLink(): void {
    const link = this.#link;
    this.#link = undefined;
    if (link && this.#out.length > link.from) this.#push(` (${link.url})`);
  }
}

/** Rows of a table, and lists in lists, are not separated by blank lines. */
function isTight(name: string): boolean {
  return name === 'tr' || name === 'dt' || name === 'dd';
}

/** Only addresses that could be fetched. Long ones are of no use to a reader. */
function absolute(href: string, base: URL): string | undefined {
  try {
    const url = new URL(href, base);
    return /^https?:$/.test(url.protocol) && url.href.length <= 500 ? url.href : undefined;
  } catch {
    return undefined;
  }
}
