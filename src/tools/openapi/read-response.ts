import { isUtf8 } from 'node:buffer';
import { bounds } from '../../core/bounds';
import { isDeepJson } from '../../core/json';
import { ToolFailure } from '../defining/tool-failure';
import { fewAtOnce } from '../running/few-at-once';
import { maxImageBytes } from '../running/output-cap';
import { SecretMask } from '../running/secret-mask';
import { ValueCount } from '../running/value-count';
import { mediaPart } from '../web/media-part';
import { type BytesRead, withBytes } from '../web/read-bytes';
import { cleanText } from './clean-text';
import { ApiUnavailableError } from './send';

/** The service may be able to answer later. */
const retryable = [408, 425, 429, 500, 502, 503, 504];

/** Headers that say what to call next. */
const shownHeaders = ['location', 'link', 'retry-after', 'etag'];

/** Large responses of one process that are held at the same time, and those of one thread. */
const inTurn = fewAtOnce(4, 2);

interface ReadOptions {
  /** Names the request in errors. */
  what: string;
  secrets: readonly string[];
  maxBytes: number;
  threadId: string;
}

/**
 * Converts a response to a tool's result: JSON and text as text, sound images and PDFs as parts, other data as bytes, nothing as `null`. Throws
 * `ApiUnavailableError` for a status after which the call may be tried again, and `ToolFailure` for any other that is not 2xx.
 */
export async function resultOf(response: Response, options: ReadOptions): Promise<unknown> {
  const secret = new SecretMask(options.secrets);
  const most = response.ok ? Math.max(options.maxBytes, maxImageBytes) : bounds.errorBodyBytes;
  const reading = { maxBytes: most + secret.maxBytes, inTurn, of: options.threadId };
  return withBytes(response, reading, async (read) => converted(response, masked(read, most, secret), secret, options));
}

function converted({ ok, status, headers }: Response, { bytes, isCut }: BytesRead, secret: SecretMask, options: ReadOptions): unknown {
  const { what, maxBytes } = options;
  const notes = shownHeaders.flatMap((name) => noteOf(name, headers.get(name), secret));
  // Parsing JSON may have removed escapes.
  const shown = () => [secret.text(textOf(bytes)), ...notes].filter(Boolean).join('\n');
  if (!ok) throw failureOf(`${what} failed with status ${status}`, { status, text: shown() });
  if (bytes.length === 0) return notes.length > 0 ? [`Status ${status}.`, ...notes].join('\n') : null;
  const mediaType = (headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  if (isCut) return cutResult(bytes, mediaType);
  const media = mediaPart(mediaType, bytes, maxBytes);
  if (media) return [media];
  if (!isUtf8(bytes) && !isText(mediaType)) return new Uint8Array(bytes);
  return shown();
}

/** A body without secrets. Where it is cut, no part of a secret remains. */
function masked({ bytes: read, isCut }: BytesRead, most: number, secret: SecretMask): BytesRead {
  const bytes = secret.bytes(read);
  if (!isCut && bytes.length <= most) return { bytes, isCut };
  // A secret whose end was not read is in the last bytes.
  return { bytes: bytes.subarray(0, Math.min(most, isCut ? bytes.length - secret.maxBytes : most)), isCut: true };
}

function cutResult(bytes: Buffer, mediaType: string): string {
  const note = `[The response is longer than ${bytes.length} bytes; the rest was not read.]`;
  return isText(mediaType) || !bytes.includes(0)
    ? `${bytes.toString('utf8')}\n${note}`
    : `[Binary data (${cleanText(mediaType, 100)})]\n${note}`;
}

function failureOf(message: string, { status, text }: { status: number; text: string }): Error {
  if (retryable.includes(status)) return new ApiUnavailableError(`${message}.`, text);
  const redirected = status >= 300 && status < 400 ? ' The service redirects to another address, which was not followed.' : '';
  return new ToolFailure(`Error: ${message}.${redirected}${text === '' ? '' : `\n${text}`}`, {
    name: 'ApiError',
    message: `${message}.${redirected}`,
  });
}

function noteOf(name: string, value: string | null, secret: SecretMask): string[] {
  if (value === null) return [];
  return [`[${name}: ${cleanText(secret.text(value), 1_000)}]`];
}

/** Indentation multiplies the size of nested JSON by its depth. */
const deepestIndented = 20;

/** JSON is indented, so that a long result is cut at whole lines and can be searched by lines. What would take long to parse stays as it came. */
function textOf(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  if (!/^\s*[[{]/.test(text) || bytes.length > bounds.indentedJsonBytes || !hasFewValues(bytes)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, isDeepJson(text, deepestIndented) ? 0 : 1);
  } catch {
    return text;
  }
}

function hasFewValues(bytes: Buffer): boolean {
  return new ValueCount(bounds.indentedJsonValues).add(bytes);
}

function isText(mediaType: string): boolean {
  return /^text\/|json|xml|yaml|javascript/.test(mediaType);
}
