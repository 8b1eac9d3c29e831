import { randomUUID } from 'node:crypto';
import { bounds } from '../../core/bounds';
import { checkDepth } from '../../core/check-input';
import { isObject, type JsonObject } from '../../core/json';
import { isWellFormed, wellFormedJson } from '../../core/text';
import type { Suspension } from '../../core/tool';
import { writeJson } from '../../core/write-json';
import { hasMark } from './mark';

const mark = Symbol.for('longhaul.Suspended');
/** These values are in the thread's state until the reply arrives. */
const { correlationIdChars: longestId, metadataBytes: mostMetadataBytes, longestMs } = bounds;

export interface SuspendOptions {
  /** The call's result for the model: text, parts, or anything that JSON can represent. */
  result: unknown;
  /** Identifies the thread for the reply; 1 to 1,000 characters. Default: a random one. */
  correlationId?: string | undefined;
  /** Milliseconds until the run expires. Default 7 days. */
  ttlMs?: number | undefined;
  /** Data for the sender of the reply; at most 8 KiB of JSON. */
  metadata?: JsonObject | undefined;
}

/** The return value of `suspend`. */
export interface Suspended {
  readonly result: unknown;
  readonly suspension: Suspension;
}

/**
 * Return it from `execute` to suspend the run after this turn until someone replies: the model receives `result`, may write closing words, and
 * the run is suspended. Throws `TypeError` for invalid values.
 */
export function suspend({ result, correlationId = randomUUID(), ttlMs, metadata }: SuspendOptions): Suspended {
  const refuse = (field: string, problem: string) => new TypeError(`suspend: ${field} ${problem}`);
  if (
    typeof correlationId !== 'string' ||
    correlationId.trim() === '' ||
    correlationId.length > longestId ||
    !isWellFormed(correlationId)
  ) {
    throw refuse('correlationId', `must be a well-formed string of 1 to ${longestId} characters.`);
  }
  if (ttlMs !== undefined && !(typeof ttlMs === 'number' && ttlMs > 0 && ttlMs <= longestMs)) {
    throw refuse('ttlMs', `is ${ttlMs}; use milliseconds above 0, at most ${longestMs} (ten years).`);
  }
  const kept = metadata === undefined ? undefined : plain(metadata, (problem) => refuse('metadata', problem));
  const suspension = { correlationId, ...(ttlMs !== undefined && { ttlMs: Math.ceil(ttlMs) }), ...(kept && { metadata: kept }) };
  return Object.freeze({ [mark]: true, result, suspension });
}

/** Not `instanceof`, which fails across two copies of the package or a test runner's realms. */
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
