import { isObject, parseObject } from './json';
import { countedBlanks, printable } from './printable';

export interface Room {
  lines: number;
  chars: number;
}

/** Values as short as this are never cut: a path must not make room for a file's content. */
const shortChars = 200;

/**
 * A call's arguments, for whoever is to agree to them: one after another, in their order, each by its name. Further lines of a value are
 * marked, so that none can pass for another argument. `left`: how many characters had no room, which the lines say, too.
 */
export function argumentLines(args: string, room: Room = { lines: Infinity, chars: Infinity }): { lines: string[]; left: number } {
  const value = parseObject(args);
  if (!value) return cutValue('', args, { ...room });
  const rest = { ...room };
  const entries = Object.entries(value).map(([name, item]) => ({ name: nameOf(name), text: textOf(item) }));
  const lines: string[] = [];
  let left = 0;
  for (const [i, { name, text }] of entries.entries()) {
    if (rest.lines <= 0) {
      const unseen = entries.slice(i).reduce((sum, entry) => sum + entry.name.length + entry.text.length, 0);
      lines.push(`… ${entries.length - i} more arguments, of ${unseen} characters, are not shown`);
      return { lines, left: left + unseen };
    }
    const shown = cutValue(name, text, rest);
    lines.push(...shown.lines);
    left += shown.left;
  }
  return { lines, left };
}

/** Takes of the room what it needs. */
function cutValue(name: string, text: string, room: Room): { lines: string[]; left: number } {
  const whole = printable(countedBlanks(text));
  const fits = whole.slice(0, Math.max(shortChars, room.chars)).split('\n').slice(0, Math.max(1, room.lines));
  const shown = fits.join('\n');
  const left = whole.length - shown.length;
  room.chars -= shown.length;
  room.lines -= fits.length;
  const [first = '', ...further] = fits;
  const head = name ? [`${name}: ${first}`] : first === '' && further.length === 0 ? [] : [`│ ${first}`];
  const lines = [...head, ...further.map((line) => `│ ${line}`)];
  return { lines: left > 0 ? [...lines, `… ${left} more characters${name && ` of ${name}`} are not shown`] : lines, left };
}

/** Anybody's words, where an agent takes what its schema does not name. */
function nameOf(name: string): string {
  return /^[\w.$-]{1,100}$/.test(name) ? name : countedBlanks(JSON.stringify(name));
}

/** A string as it is, but in quotes where it would pass for a value of another kind. Those have no line breaks, and files of JSON do. */
function textOf(value: unknown): string {
  if (typeof value !== 'string') return isObject(value) || Array.isArray(value) ? JSON.stringify(value) : String(value);
  const seen = value.trim();
  return seen === '' || (!seen.includes('\n') && isJson(seen)) ? JSON.stringify(value) : value;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
