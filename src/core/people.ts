import { checkName } from './check-input';
import { hasHidden } from './printable';

/** Normalizes a user's or a group's name for storage and display: trimmed, in Unicode form NFC. */
export function cleanName(name: string): string {
  return name.trim().normalize('NFC');
}

/** Whether two names mean the same person or group. Names that look the same do. */
export function sameName(one: string, other: string): boolean {
  return nameKey(one) === nameKey(other);
}

/**
 * Returns the key by which names are compared. It ignores case, Unicode forms, repeated blanks and invisible characters. `ẞ` has no upper case
 * of its own and must become `ß`, which has one, so lower case is applied first, too.
 */
export function nameKey(name: string): string {
  const folded = name.replace(unseen, '').normalize('NFKC').toLowerCase().toUpperCase().toLowerCase();
  // A combining dot on a letter that has a dot, and the final form of sigma, make no difference.
  const letters = folded.replace(/(?<=[ij])\u0307+/g, '').replaceAll('ς', 'σ');
  return letters.normalize('NFKC').replace(unseen, '').replace(/\s+/g, ' ').trim();
}

/**
 * Invisible characters: control characters, Unicode's default ignorable characters, U+FFF9 to U+FFFC, and empty characters of Braille, music,
 * Khitan and Egyptian. Listed by code point, because workflow code must not depend on the Unicode tables of its Node.
 */
const unseen =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is to go
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: each stands for itself
  /[\0-\x08\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\u{13430}-\u{13442}\u{16fe4}\u{1bca0}-\u{1bca3}\u{1d159}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

/** Returns what is wrong with a user's or a group's name, or undefined. Names with invisible characters, which could imitate others, are refused. */
export function checkPerson(field: string, name: unknown): string | undefined {
  return earlierNames.check(field, name) ?? (blank.test(name as string) ? notSeen(field, name) : undefined);
}

/** The characters of `unseen` that are not default ignorable, which other texts may contain. */
const blank = /[\u2800\ufffc\u{13430}-\u{13442}\u{16fe4}\u{1d159}]/u;

/** How code that recorded `sameNames: true` compared and checked names. Its runs must continue, and replay, in the same way. */
export const earlierNames = {
  same(one: string, other: string): boolean {
    const key = (name: string) => name.normalize('NFKC').toLowerCase().normalize('NFKC').replace(/\s+/g, ' ').trim();
    return key(one) === key(other);
  },
  check(field: string, name: unknown): string | undefined {
    const wrong = checkName(field, name);
    if (wrong) return wrong;
    return hasHidden((name as string).trim()) ? notSeen(field, name) : undefined;
  },
};

function notSeen(field: string, name: unknown): string {
  return `${field} has invisible characters: ${JSON.stringify(name)}`;
}
