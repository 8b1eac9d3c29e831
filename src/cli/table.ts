import { type Part, paint, Styled, styled } from './styled';

export interface Row {
  cells: readonly string[];
  /** What stands under it. */
  below?: readonly Part[];
}

/** Columns for people; the last one is as long as it is. */
export function table(heading: readonly string[], rows: readonly Row[]): Styled {
  const head = heading.map(Styled.line);
  const all = rows.map(({ cells, below = [] }) => ({ cells: cells.map(Styled.line), below }));
  const widths = head.map((name, i) => Math.max(name.length, ...all.map(({ cells }) => cells[i]?.length ?? 0)));
  const line = (cells: readonly Styled[]) =>
    Styled.join(
      cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)),
      '  ',
    ).trimEnd();
  const lines = all.flatMap(({ cells, below }) => [line(cells), ...below.map((part) => styled`    ${part}`)]);
  return styled`${Styled.join([paint.dim(line(head)), ...lines], styled`\n`)}\n`;
}
