const mask = '[credential]';
/** A shorter value would be found in ordinary text. */
const fewestChars = 6;
/** A longer one is replaced in pieces of this size, because a pattern of any length might not compile. */
const pieceChars = 500;
/** More than one, because a text may be written as JSON several times. */
const maxBackslashes = 7;
/** The most bytes in which one character is recognized: backslashes, `u` and four digits. */
const maxBytesPerChar = maxBackslashes + 5;

/** Replaces secrets in what a service or a server answers: it may repeat what it was sent, also escaped for JSON, a URL or HTML. */
export class SecretMask {
  readonly #pattern: RegExp | undefined;
  /** The most bytes that a secret may have in an answer. */
  readonly maxBytes: number;

  constructor(secrets: readonly string[]) {
    const pieces = secrets.flatMap((secret) => secret.trim().match(new RegExp(`.{1,${pieceChars}}`, 'gsu')) ?? []);
    // The longest first, because one may be the beginning of another.
    const long = pieces.filter(({ length }) => length >= fewestChars).sort((a, b) => b.length - a.length);
    this.#pattern = long.length > 0 ? new RegExp(long.map(patternOf).join('|'), 'g') : undefined;
    this.maxBytes = Math.max(0, ...long.map(({ length }) => length * maxBytesPerChar));
  }

  bytes(bytes: Buffer): Buffer {
    if (!this.#pattern) return bytes;
    const text = bytes.toString('latin1');
    const masked = text.replace(this.#pattern, mask);
    return masked === text ? bytes : Buffer.from(masked, 'latin1');
  }

  text(text: string): string {
    return this.bytes(Buffer.from(text)).toString('utf8');
  }
}

/** Matches a secret in bytes that were decoded as Latin-1. */
function patternOf(secret: string): string {
  // Each character is matched in bounded steps, so that no answer makes the search slow.
  return [...secret].map((char) => (/[a-zA-Z0-9]/.test(char) ? char : `(?:${formsOf(char).join('|')})`)).join('');
}

function formsOf(char: string): string[] {
  const bytes = [...Buffer.from(char)];
  const units = Array.from({ length: char.length }, (_, at) => anyCase(char.charCodeAt(at).toString(16).padStart(4, '0')));
  const point = char.codePointAt(0) ?? 0;
  const named: Record<string, string[]> = { '&': ['&amp;'], '<': ['&lt;'], '>': ['&gt;'], '"': ['&quot;'], "'": ['&apos;'], ' ': ['\\+'] };
  return [
    `\\\\{0,${maxBackslashes}}${bytes.map((byte) => `\\x${hex(byte)}`).join('')}`,
    units.map((unit) => `\\\\{1,${maxBackslashes}}u${unit}`).join(''),
    bytes.map((byte) => `%${anyCase(hex(byte))}`).join(''),
    `&#0{0,2}${point};`,
    `&#[xX]0{0,2}${anyCase(point.toString(16))};`,
    ...(named[char] ?? []),
  ];
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, '0');
}

function anyCase(digits: string): string {
  return digits.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}
