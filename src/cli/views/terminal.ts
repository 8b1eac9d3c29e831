import { Styled, styled } from './styled';

// Nothing else in a command writes to standard output or standard error; see `Styled`.

/** Prints the requested output to standard output. */
export function print(text: Styled): void {
  if (text.text !== '') process.stdout.write(text.text);
}

export function printJson(value: unknown): void {
  print(styled`${Styled.json(value)}\n`);
}

/** Prints one or more lines of other messages to standard error. */
export function note(text: Styled): void {
  say(styled`${text}\n`);
}

/** Prints to standard error without a line break, for a person at a terminal. */
export function say(text: Styled): void {
  process.stderr.write(text.text);
}

/** Prints text that arrives line by line, such as warnings of a worker, to standard error. */
export function noteLines(text: string): void {
  note(Styled.lines(text));
}
