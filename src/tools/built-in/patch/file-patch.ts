/** One line of a hunk: kept (` `), deleted (`-`) or inserted (`+`). Without its line break. */
export interface HunkLine {
  op: ' ' | '-' | '+';
  text: string;
}

export interface Hunk {
  lines: HunkLine[];
  /** The line of the patch with which it begins, from 1. For messages. */
  patchLine: number;
  /** A line of the file somewhere before the hunk (`@@ class A`). */
  below?: string;
  /** The line of the file, from 1, at which a unified diff says that it begins. For a hunk that only inserts: the line before it. */
  at?: number;
  /** It must end with the last line of the file. */
  atEnd?: true;
  /** Whether the file ends with a line break, before and after; for a hunk that says so. */
  finalBreak?: { before?: boolean; after?: boolean };
}

/** What a patch does to one file. Paths are as the patch has them. */
export type FilePatch =
  | { kind: 'add'; path: string; content: string; mode?: number }
  | { kind: 'delete'; path: string; hunks: Hunk[] }
  | { kind: 'update'; path: string; moveTo?: string; hunks: Hunk[] };

/** The text is not a patch, or does not fit the files. The message is for the model. */
export class PatchError extends Error {
  override readonly name = 'PatchError';
}

export function refuseAt(patchLine: number, problem: string): PatchError {
  return new PatchError(`Line ${patchLine} of the patch ${problem}`);
}

/** The lines of a patch, without the carriage returns of Windows. */
export function patchLines(patch: string): string[] {
  return patch.split('\n').map((line) => line.replace(/\r$/, ''));
}
