import type { TextPlace } from './find-text';

/** How much of a change a dry run shows. */
const mostLines = 120;
const mostCharacters = 16_000;

/** The lines of each place before and after, as in a diff, without the lines around them. Bounded. */
export function previewOfPlaces(text: string, places: readonly TextPlace[]): string {
  const lines: string[] = [];
  let characters = 0;
  for (const { start, end, replacement } of places) {
    if (lines.length > mostLines || characters > mostCharacters) break;
    const from = start === 0 ? 0 : text.lastIndexOf('\n', start - 1) + 1;
    const next = text.indexOf('\n', Math.max(start, end - 1));
    const to = next === -1 ? text.length : Math.max(next, end);
    const before = text.slice(from, to).slice(0, mostCharacters + 1);
    const after = (text.slice(from, start) + replacement + text.slice(end, to)).slice(0, mostCharacters + 1);
    characters += before.length + after.length;
    lines.push(...signed('-', before), ...signed('+', after));
  }
  return boundedPreview(lines);
}

export function boundedPreview(lines: readonly string[]): string {
  const shown = lines.slice(0, mostLines).join('\n');
  const isWhole = lines.length <= mostLines && shown.length <= mostCharacters;
  return isWhole ? shown : `${shown.slice(0, mostCharacters)}\n[... the rest of the change is not shown ...]`;
}

function signed(sign: string, text: string): string[] {
  return text.split(/\r?\n/).map((line) => sign + line);
}
