import { Styled, styled } from './styled';

// Nothing else in a command writes to standard output or standard error; see `Styled`.

/** To standard output: what was asked for. */
export function print(text: Styled): void {
  if (text.text !== '') process.stdout.write(text.text);
}

export function printJson(value: unknown): void {
  print(styled`${Styled.json(value)}\n`);
}

/** To standard error: what is said beside it, a line or more. */
export function note(text: Styled): void {
  say(styled`${text}\n`);
}

/** To standard error, without an end of the line: to a person at a terminal. */
export function say(text: Styled): void {
  process.stderr.write(text.text);
}

/** What others hand over line by line, such as warnings of a worker. */
export function noteLines(text: string): void {
  note(Styled.lines(text));
}
