import { bounds } from '../../core/bounds';
import { isObject } from '../../core/json';
import type { Tool } from '../defining/define-tool';

/**
 * The arguments to show to the people who decide about a call: as the tool receives them, with defaults and without unknown fields, in the order
 * in which the tool declares them. Undefined if the model's text says exactly that, or if JSON can't represent them; then that text is shown.
 */
export function shownArguments({ parameters }: Pick<Tool, 'parameters'>, args: unknown, text: string): string | undefined {
  if (!isObject(args) || !isPlain(args, bounds.jsonDepth)) return undefined;
  const declared = isObject(parameters.properties) ? Object.keys(parameters.properties).filter((name) => Object.hasOwn(args, name)) : [];
  const names = new Set([...declared, ...Object.keys(args)]);
  const shown = JSON.stringify(Object.fromEntries([...names].map((name) => [name, args[name]])));
  if (shown.length > bounds.shownArgumentsChars) return undefined;
  return shown === asWritten(text) ? undefined : shown;
}

/**
 * A JSON text without blanks, and with each string in one spelling. Parsing it instead would hide what parsing drops: the first of two values of
 * the same name, and the digits that a number can't hold. Both would be shown to people, although the tool does not receive them.
 */
function asWritten(text: string): string {
  return text.replace(/"(?:[^"\\]+|\\.)*"|\s+/g, (part) => {
    if (!part.startsWith('"')) return '';
    return part.includes('\\') ? JSON.stringify(JSON.parse(part)) : part;
  });
}

/** Whether JSON represents the value completely, which it doesn't for a Map or a class instance. JSON says null for each of several values. */
function isPlain(value: unknown, depth: number): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value === 'bigint' || typeof value === 'function' || typeof value === 'symbol') return false;
  if (typeof value !== 'object' || value === null) return true;
  if (depth <= 0) return false;
  // A copy, because `every` skips the holes of a list, which JSON shows as null, like `undefined` in it.
  if (Array.isArray(value)) return Array.from(value).every((item) => item !== undefined && isPlain(item, depth - 1));
  if (value instanceof Date) return Number.isFinite(value.getTime());
  if (value instanceof URL) return true;
  const prototype = Object.getPrototypeOf(value);
  // Checks the prototype's own prototype, because objects of another realm are plain too.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return false;
  return Object.values(value).every((item) => isPlain(item, depth - 1));
}
