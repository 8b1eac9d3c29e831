import { textOfValue } from '../../core/argument-lines';
import { excerpt, parseObject } from '../../core/json';
import type { Usage } from '../../core/message';
import { printable, printableLine, withoutSequences } from '../../core/printable';
import type { Waste } from '../../core/waste';

/** `840 ms`, `3.2 s`, `2 min 5 s`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}

/** How long ago, roughly: `45 s`, `12 min`, `3 h`, `5 d`. */
export function age(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1_000));
  if (s < 90) return `${s} s`;
  if (s < 90 * 60) return `${Math.round(s / 60)} min`;
  return s < 48 * 3_600 ? `${Math.round(s / 3_600)} h` : `${Math.round(s / 86_400)} d`;
}

/** `2026-01-31 12:00 UTC`. */
export function minute(iso: string): string {
  return `${iso.slice(0, 16).replace('T', ' ')} UTC`;
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`;
}

/** `812`, `12.3k`, `1.2M`. */
export function tokens(n: number): string {
  if (n < 1_000) return String(n);
  return n < 1_000_000 ? `${(n / 1_000).toFixed(1)}k` : `${(n / 1_000_000).toFixed(1)}M`;
}

export function usageWords({ inputTokens, cachedInputTokens, outputTokens }: Usage): string {
  const cached = cachedInputTokens > 0 ? ` (${tokens(cachedInputTokens)} cached)` : '';
  return `${tokens(inputTokens)} tokens in${cached}, ${tokens(outputTokens)} out`;
}

/** `attempts without an answer: about 1.2k tokens in, 34 out`. */
export function wasteWords({ usage, estimated }: Waste): string {
  return `attempts without an answer: ${estimated ? 'about ' : ''}${usageWords(usage)}`;
}

/** `12 B`, `34.5 kB`, `1.20 MB`. */
export function bytes(n: number): string {
  if (n < 1_000) return `${n} B`;
  return n < 1_000_000 ? `${(n / 1_000).toFixed(1)} kB` : `${(n / 1_000_000).toFixed(2)} MB`;
}

/**
 * A call's arguments on one line: a single argument without its name, several as `name: value`, with quotes where an approval has them. If they are not a
 * JSON object, the model's text.
 */
export function shortArguments(text: string, max: number): string {
  const value = parseObject(text);
  if (!value) return excerpt(printableLine(text).trim(), max);
  const entries = Object.entries(value);
  return entries.length === 1 ? excerpt(oneLine(entries[0]?.[1]), max) : shortFields(value, max);
}

/** Values on one line, each with its name. */
export function shortFields(value: object, max: number): string {
  const entries = Object.entries(value);
  // Long arguments (a file's content) must not push short ones (its path) off the line.
  const each = Math.max(16, Math.floor(max / Math.max(1, entries.length)));
  return excerpt(entries.map(([name, item]) => `${printableLine(name)}: ${excerpt(oneLine(item), each)}`).join(', '), max);
}

function oneLine(value: unknown): string {
  return printableLine(textOfValue(value)).trim();
}

/** The first and last lines of an output, with the number of omitted lines. */
export function preview(text: string, head: number, tail: number, width: number): string[] {
  const lines = printable(withoutSequences(text)).trimEnd().split('\n');
  const shown = (part: string[]) => part.map((line) => excerpt(line, width));
  if (lines.length <= head + tail + 1) return shown(lines);
  return [...shown(lines.slice(0, head)), `… ${lines.length - head - tail} more lines`, ...shown(lines.slice(-tail))];
}
