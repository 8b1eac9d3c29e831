/** The lines of a text without their line breaks. Those that end with a Windows line break keep the carriage return. */
export interface TextLines {
  lines: string[];
  /** Whether the last line ends with a line break. True for an empty text. */
  finalBreak: boolean;
  /** Whether the first line ends with a Windows line break. */
  windows: boolean;
}

export function splitLines(text: string): TextLines {
  const lines = text.split('\n');
  const windows = lines.length > 1 && lines[0]?.endsWith('\r') === true;
  const last = lines.pop() as string;
  const finalBreak = last === '';
  // So that a line that comes to stand after it finds it like the others.
  if (!finalBreak) lines.push(windows ? `${last}\r` : last);
  return { lines, finalBreak, windows };
}

/** Undoes `splitLines`. */
export function joinLines({ lines, finalBreak, windows }: TextLines): string {
  const text = lines.join('\n');
  if (lines.length > 0 && finalBreak) return `${text}\n`;
  return windows && text.endsWith('\r') ? text.slice(0, -1) : text;
}
