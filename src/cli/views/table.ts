import { type Part, paint, Styled, styled } from './styled';

export interface Row {
  cells: readonly string[];
  /** Text below the row. */
  below?: readonly Part[];
  /** A command below that text. It is never wrapped, so that it can be copied. */
  command?: Part;
}

/** The maximum width of a column: names of agents and of most models fit. A longer cell makes only its own row longer. */
const widest = 64;

/** A table for a terminal with `columns` columns. The last column is not padded. */
export function table(heading: readonly string[], rows: readonly Row[], columns: number | undefined): Styled {
  const head = heading.map(Styled.line);
  const all = rows.map(({ cells, ...under }) => ({ cells: cells.map(Styled.line), ...under }));
  const widths = head.map((name, i) => Math.max(name.length, ...all.map(({ cells }) => Math.min(widest, cells[i]?.length ?? 0))));
  const line = (cells: readonly Styled[]) =>
    Styled.join(
      cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)),
      '  ',
    ).trimEnd();
  const lines = all.flatMap(({ cells, below = [], command }) => [
    ...[line(cells), ...below.map((part) => styled`    ${part}`)].map((one) => one.fit(columns)),
    ...(command === undefined ? [] : [styled`    ${command}`]),
  ]);
  return styled`${Styled.join([paint.dim(line(head)).fit(columns), ...lines], styled`\n`)}\n`;
}
