import { bounds } from '../core/bounds';
import { isObject, parseObject } from '../core/json';
import type { Tool } from './define-tool';

/**
 * The arguments as whoever is asked about a call should see them: as the tool takes them, with its defaults and without what it does not
 * know, in the order in which it declares them. Undefined where the model's text says just that, or where they can't be written as JSON;
 * then that text is shown.
 */
export function shownArguments({ parameters }: Pick<Tool, 'parameters'>, args: unknown, text: string): string | undefined {
  if (!isObject(args) || !isPlain(args, bounds.jsonDepth)) return undefined;
  const declared = isObject(parameters.properties) ? Object.keys(parameters.properties).filter((name) => Object.hasOwn(args, name)) : [];
  const names = new Set([...declared, ...Object.keys(args)]);
  const shown = JSON.stringify(Object.fromEntries([...names].map((name) => [name, args[name]])));
  if (shown.length > bounds.shownArgumentsChars) return undefined;
  return shown === JSON.stringify(parseObject(text)) ? undefined : shown;
}

/** Whether JSON says all of it: of a Map or a class it would not. */
function isPlain(value: unknown, depth: number): boolean {
  if (typeof value === 'bigint' || typeof value === 'function' || typeof value === 'symbol') return false;
  if (typeof value !== 'object' || value === null) return true;
  if (depth <= 0) return false;
  if (Array.isArray(value)) return value.every((item) => isPlain(item, depth - 1));
  if (value instanceof Date || value instanceof URL) return true;
  const prototype = Object.getPrototypeOf(value);
  // By its prototype's own prototype: objects of another realm are plain, too.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return false;
  return Object.values(value).every((item) => isPlain(item, depth - 1));
}
