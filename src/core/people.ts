import { checkName } from './check-input';
import { hasHidden } from './printable';

/** A user's or a group's name as it is kept and shown: without blanks around it, and each character in one form. */
export function cleanName(name: string): string {
  return name.trim().normalize('NFC');
}

/** Whether two names are of the same person or group. Blanks, case and forms of a character tell nobody apart: they are two votes of one. */
export function sameName(one: string, other: string): boolean {
  return nameKey(one) === nameKey(other);
}

/** What names of one person have in common. */
export function nameKey(name: string): string {
  return name.normalize('NFKC').toLowerCase().normalize('NFKC').replace(/\s+/g, ' ').trim();
}

/** What is wrong with a user's or a group's name, or undefined. One that looks like another's is refused, where a character is not seen. */
export function checkPerson(field: string, name: unknown): string | undefined {
  const wrong = checkName(field, name);
  if (wrong) return wrong;
  return hasHidden((name as string).trim()) ? `${field} has characters that are not seen: ${JSON.stringify(name)}` : undefined;
}
