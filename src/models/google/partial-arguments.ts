import { bounds } from '../../core/bounds';
import { isObject, type Json } from '../../core/json';
import { LimitExceeded } from '../wire/limit-exceeded';

type Container = Json[] | { [key: string]: Json };

/**
 * Call arguments that arrive value by value, each with its path (`$.items[0].name`); a string may arrive in several pieces. Values whose path
 * doesn't fit the earlier values are ignored.
 */
export class PartialArguments {
  readonly #root: Record<string, Json> = {};

  /** Adds a list of pieces. Returns the number of characters that they add. */
  add(pieces: readonly unknown[]): number {
    let chars = 0;
    for (const piece of pieces) {
      if (!isObject(piece) || typeof piece.jsonPath !== 'string') continue;
      const value = givenValue(piece);
      if (value === undefined) continue;
      this.#set(placesOf(piece.jsonPath), value);
      chars += piece.jsonPath.length + (typeof value === 'string' ? value.length : 4);
    }
    return chars;
  }

  text(): string {
    return JSON.stringify(this.#root);
  }

  #set(places: readonly (string | number)[], value: Json): void {
    let at: Container = this.#root;
    for (const [i, place] of places.entries()) {
      const next = places[i + 1];
      // A list grows only at its end: a large index would make it as long as the index.
      if (typeof place === 'number' ? !Array.isArray(at) || place > at.length : Array.isArray(at)) return;
      const container = at as Record<string | number, Json>;
      const before = Object.hasOwn(container, place) ? container[place] : undefined;
      if (next === undefined)
        return put(container, place, typeof before === 'string' && typeof value === 'string' ? before + value : value);
      if (typeof before !== 'object' || before === null) put(container, place, typeof next === 'number' ? [] : {});
      at = container[place] as Container;
    }
  }
}

/** Sets an own property, whatever its name. */
function put(container: Record<string | number, Json>, place: string | number, value: Json): void {
  Object.defineProperty(container, place, { value, enumerable: true, configurable: true, writable: true });
}

function givenValue({ stringValue, numberValue, boolValue, nullValue }: Record<string, unknown>): Json | undefined {
  const value = stringValue ?? numberValue ?? boolValue;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return nullValue === undefined ? undefined : null;
}

/** Parses a path such as `$.a.b[0]['c d']`. Returns an empty list for an invalid path. */
function placesOf(path: string): (string | number)[] {
  const places: (string | number)[] = [];
  const step = /\.?([^.[\]]+)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]/y;
  step.lastIndex = path.startsWith('$') ? 1 : 0;
  for (let at = step.lastIndex; at < path.length; at = step.lastIndex) {
    const found = step.exec(path);
    if (!found) return [];
    const [, name, index, single, double] = found;
    places.push(index !== undefined ? Number(index) : (name ?? single ?? double ?? ''));
    if (places.length > bounds.jsonDepth) throw new LimitExceeded('a piece of its stream', bounds.jsonDepth, 'levels of nesting');
  }
  return places;
}
