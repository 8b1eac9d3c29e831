import { printable } from '../../core/printable';
import { shortText } from '../../core/text';

/** Makes a text of a document safe to show: bounded, one space for each run of blanks, and hidden characters shown by code point. */
export function cleanText(text: unknown, maxChars: number): string {
  if (typeof text !== 'string') return '';
  // Cut first, because the document's author chooses the length.
  const beginning = text.slice(0, 4 * maxChars);
  return shortText(printable(beginning).replace(/\s+/g, ' ').trim(), maxChars);
}
