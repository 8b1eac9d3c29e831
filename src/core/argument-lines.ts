import { isObject, parseObject } from './json';
import { beginningFor, countedBlanks, numberedEmpties, printable } from './printable';

export interface Room {
  lines: number;
  chars: number;
}

/** Values up to this length are never cut: a path must stay readable next to a file's content. */
const shortChars = 200;

/**
 * Formats a call's arguments for the people who must approve it: in order, each with its name. Further lines of a value are marked, so that
 * none can look like another argument. `left` is the number of characters that did not fit, which the lines state, too.
 */
export function argumentLines(args: string, room: Room = { lines: Infinity, chars: Infinity }): { lines: string[]; left: number } {
  const value = parseObject(args);
  if (!value) return cutValue('', args, { ...room });
  const rest = { ...room };
  const entries = Object.entries(value);
  const lines: string[] = [];
  let left = 0;
  for (const [i, [name, item]] of entries.entries()) {
    if (rest.lines <= 0) {
      const unseen = entries.slice(i).reduce((sum, [key, one]) => sum + key.length + lengthOf(one), 0);
      lines.push(`… ${entries.length - i} more arguments, of ${unseen} characters, are not shown`);
      return { lines, left: left + unseen };
    }
    const named = nameOf(name, rest);
    const shown = cutValue(named.shown, textOfValue(item), rest);
    lines.push(...shown.lines);
    left += named.left + shown.left;
  }
  return { lines, left };
}

/** Formats one value and reduces `room` by what it uses. The rest is counted but not processed, because a value may have megabytes. */
function cutValue(name: string, text: string, room: Room): { lines: string[]; left: number } {
  const chars = Math.max(shortChars, room.chars);
  const begun = beginningFor(text, chars);
  const whole = harmless(begun);
  const fits = whole.slice(0, chars).split('\n').slice(0, Math.max(1, room.lines));
  const shown = fits.join('\n');
  const left = whole.length - shown.length + text.length - begun.length;
  room.chars -= shown.length;
  room.lines -= fits.length;
  const [first = '', ...further] = fits;
  const head = name ? [`${name}: ${first}`] : first === '' && further.length === 0 ? [] : [`│ ${first}`];
  const lines = [...head, ...further.map((line) => `│ ${line}`)];
  return { lines: left > 0 ? [...lines, `… ${left} more characters${name && ` of ${name}`} are not shown`] : lines, left };
}

/** Formats an argument's name, which may be any text if the tool accepts arguments that its schema does not name. */
function nameOf(name: string, room: Room): { shown: string; left: number } {
  if (/^[\w.$-]{1,100}$/.test(name)) return { shown: name, left: 0 };
  const begun = Number.isFinite(room.chars) ? name.slice(0, shortChars) : name;
  const left = name.length - begun.length;
  return { shown: `${harmless(JSON.stringify(begun))}${left > 0 ? `… (${left} more characters)` : ''}`, left };
}

function harmless(text: string): string {
  return printable(numberedEmpties(countedBlanks(text)));
}

/** Approximate number of characters of a value. */
function lengthOf(value: unknown): number {
  return typeof value === 'string' ? value.length : JSON.stringify(value).length;
}

/** Returns a string as it is, but quoted if it looks like another kind of value: blank, or JSON on one line. */
export function textOfValue(value: unknown): string {
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
