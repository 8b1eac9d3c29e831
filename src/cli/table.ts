import pc from 'picocolors';
import { printable } from './words';

/** Columns for people; the last one is as long as it is. `below`: what stands under a row. */
export function table(heading: readonly string[], rows: readonly { cells: readonly string[]; below?: readonly string[] }[]): string {
  const all = [{ cells: heading }, ...rows.map(({ cells, ...rest }) => ({ ...rest, cells: cells.map(oneLine) }))];
  const widths = heading.map((_, i) => Math.max(...all.map(({ cells }) => cells[i]?.length ?? 0)));
  const text = (cells: readonly string[]) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd();
  const [first, ...others] = all;
  const lines = others.flatMap((row) => [
    text(row.cells),
    ...('below' in row ? (row.below ?? []) : []).map((below) => pc.dim(`    ${below}`)),
  ]);
  return `${[pc.dim(text(first?.cells ?? [])), ...lines].join('\n')}\n`;
}

function oneLine(text: string): string {
  return printable(text).replace(/\s+/g, ' ');
}
