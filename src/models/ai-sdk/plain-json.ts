import { bounds } from '../../core/bounds';
import type { Json } from '../../core/json';
import { LimitExceeded } from '../wire/limit-exceeded';

/** Counts what is copied, and throws `LimitExceeded` above a limit. */
export type Spend = (chars: number) => void;

/**
 * Converts a value of a provider's package to JSON, because it crosses a process and may contain anything. What `JSON.stringify` omits is
 * omitted; dates become ISO strings, bytes base64, big integers strings of digits. `__proto__` is dropped, because careless code that copies it
 * back would change an object's prototype. A cycle is rejected as too deep.
 */
export function plainJson(value: unknown, what: string, spend: Spend): Json {
  return copyOf(value, { what, spend }, 0) ?? null;
}

interface Copying {
  what: string;
  spend: Spend;
}

/** `undefined` for a value without a JSON representation. */
function copyOf(value: unknown, copying: Copying, depth: number): Json | undefined {
  switch (typeof value) {
    case 'string':
      copying.spend(value.length + 2);
      return value;
    case 'number':
      copying.spend(8);
      return Number.isFinite(value) ? value : null;
    case 'boolean':
      copying.spend(4);
      return value;
    case 'bigint':
      return copyOf(String(value), copying, depth);
    case 'object':
      return value === null ? null : copyOfObject(value, copying, depth);
    default:
      return undefined;
  }
}

function copyOfObject(value: object, copying: Copying, depth: number): Json | undefined {
  const { what, spend } = copying;
  if (depth >= bounds.jsonDepth) throw new LimitExceeded(what, bounds.jsonDepth, 'levels of nesting');
  spend(2);
  if (ArrayBuffer.isView(value)) {
    spend(Math.ceil(value.byteLength / 3) * 4);
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
  }
  if (Array.isArray(value)) {
    const items: Json[] = [];
    // By index: a list may have holes, and `spend` must count them.
    for (let i = 0; i < value.length; i++) {
      spend(1);
      items.push(copyOf(value[i], copying, depth + 1) ?? null);
    }
    return items;
  }
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === 'function') return copyOf(toJSON.call(value), copying, depth + 1);
  const entries: [string, Json][] = [];
  for (const key of Object.keys(value)) {
    spend(key.length + 4);
    const item = key === '__proto__' ? undefined : copyOf((value as Record<string, unknown>)[key], copying, depth + 1);
    if (item !== undefined) entries.push([key, item]);
  }
  return Object.fromEntries(entries);
}
