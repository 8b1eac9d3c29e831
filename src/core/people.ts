import { checkName } from './check-input';
import { hasHidden } from './printable';

/** A user's or a group's name as it is kept and shown: without blanks around it, and each character in one form. */
export function cleanName(name: string): string {
  return name.trim().normalize('NFC');
}

/** Whether two names are of the same person or group. Names that look the same are two votes of one. */
export function sameName(one: string, other: string): boolean {
  return nameKey(one) === nameKey(other);
}

/**
 * What names of one person have in common: not their case, the forms of their characters, blanks, and what is not seen. `ẞ` has no upper
 * case of its own and becomes `ß`, which has; so the lower case comes first, too.
 */
export function nameKey(name: string): string {
  const folded = name.replace(unseen, '').normalize('NFKC').toLowerCase().toUpperCase().toLowerCase();
  // A dot on a letter that has one anyway, and the form of sigma at the end of a word.
  const letters = folded.replace(/(?<=[ij])\u0307+/g, '').replaceAll('ς', 'σ');
  return letters.normalize('NFKC').replace(unseen, '').replace(/\s+/g, ' ').trim();
}

/**
 * What is shown as nothing, or as a blank that is none: control characters, what Unicode calls default ignorable, U+FFF9 to U+FFFC, empty
 * places in Braille, music, Khitan and Egyptian. By number, since workflow code must not depend on the Unicode tables of its Node.
 */
const unseen =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is to go
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: each stands for itself
  /[\0-\x08\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\u{13430}-\u{13442}\u{16fe4}\u{1bca0}-\u{1bca3}\u{1d159}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

/** What is wrong with a user's or a group's name, or undefined. One that looks like another's is refused, where a character is not seen. */
export function checkPerson(field: string, name: unknown): string | undefined {
  return earlierNames.check(field, name) ?? (blank.test(name as string) ? notSeen(field, name) : undefined);
}

/** Of `unseen`, what is no default ignorable and so stays in other texts. */
const blank = /[\u2800\ufffc\u{13430}-\u{13442}\u{16fe4}\u{1d159}]/u;

/** As names were compared and checked by code that recorded `sameNames: true`: its runs must go on, and replay, as they began. */
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
  return `${field} has characters that are not seen: ${JSON.stringify(name)}`;
}
