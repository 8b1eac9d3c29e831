import { randomUUID } from 'node:crypto';
import { bounds } from '../core/bounds';
import { checkDepth } from '../core/check-input';
import { isObject, type JsonObject } from '../core/json';
import { isWellFormed, wellFormedJson } from '../core/text';
import type { Suspension } from '../core/tool';
import { writeJson } from '../core/write-json';
import { hasMark } from './mark';

const mark = Symbol.for('longhaul.Suspended');
/** They stand in the thread's state until the reply comes. */
const { correlationIdChars: longestId, metadataBytes: mostMetadataBytes, longestMs } = bounds;

export interface SuspendOptions {
  /** What the model is told of the call: text, parts, or anything JSON can write. */
  result: unknown;
  /** By which the reply finds the thread; 1 to 1,000 characters. Default: a random one. */
  correlationId?: string;
  /** Milliseconds until the run expires. Default 7 days. */
  ttlMs?: number;
  /** For whoever replies; at most 8 KiB of JSON. */
  metadata?: JsonObject;
}

/** What `suspend` makes. */
export interface Suspended {
  readonly result: unknown;
  readonly suspension: Suspension;
}

/**
 * Return it from `execute` to have the run rest after this turn until someone replies: the model is told `result`, may say a last word, and
 * sleeps. Throws `TypeError` for what can't be kept.
 */
export function suspend({ result, correlationId = randomUUID(), ttlMs, metadata }: SuspendOptions): Suspended {
  const refuse = (field: string, problem: string) => new TypeError(`suspend: ${field} ${problem}`);
  if (
    typeof correlationId !== 'string' ||
    correlationId.trim() === '' ||
    correlationId.length > longestId ||
    !isWellFormed(correlationId)
  ) {
    throw refuse('correlationId', `must be a text of 1 to ${longestId} whole characters.`);
  }
  if (ttlMs !== undefined && !(typeof ttlMs === 'number' && ttlMs > 0 && ttlMs <= longestMs)) {
    throw refuse('ttlMs', `is ${ttlMs}; use milliseconds above 0, at most ${longestMs} (ten years).`);
  }
  const kept = metadata === undefined ? undefined : plain(metadata, (problem) => refuse('metadata', problem));
  const suspension = { correlationId, ...(ttlMs !== undefined && { ttlMs: Math.ceil(ttlMs) }), ...(kept && { metadata: kept }) };
  return Object.freeze({ [mark]: true, result, suspension });
}

/** Not `instanceof`: two copies of the package, or a test runner's realms, would make it lie. */
export function isSuspended(value: unknown): value is Suspended {
  return hasMark(value, mark);
}

function plain(metadata: unknown, refuse: (problem: string) => Error): JsonObject {
  if (!isObject(metadata)) throw refuse('must be an object.');
  let text: string;
  try {
    text = writeJson(metadata, bounds.outputChars)?.text ?? '{}';
  } catch (error) {
    throw refuse(`can't be written as JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const bytes = Buffer.byteLength(text);
  if (bytes > mostMetadataBytes) throw refuse(`has ${bytes} bytes; at most ${mostMetadataBytes} are kept.`);
  const kept = wellFormedJson(JSON.parse(text) as JsonObject, bounds.payloadDepth);
  const tooDeep = checkDepth('it', kept);
  if (tooDeep) throw refuse(`can't be kept: ${tooDeep}.`);
  return kept;
}
