import { type FilePatch, type Hunk, PatchError, patchLines, refuseAt } from './file-patch';

const header = /^\*\*\* (Add File|Delete File|Update File|Move to): (.+)$/;

export function isBegin(line: string): boolean {
  return line.trim() === '*** Begin Patch';
}

/**
 * Parses the grammar that models are trained on:
 *
 *     *** Begin Patch
 *     *** Add File: path        every line begins with +
 *     *** Delete File: path
 *     *** Update File: path
 *     *** Move to: path         optional
 *     @@ class A                optional: a line somewhere before the hunk
 *      kept / -deleted / +inserted lines
 *     *** End of File           optional: the hunk ends with the file
 *     *** End Patch
 */
export function parseBeginPatch(patch: string): FilePatch[] {
  const lines = patchLines(patch.trimEnd());
  const begin = lines.findIndex(isBegin);
  if (lines.at(-1)?.trim() !== '*** End Patch')
    throw new PatchError("The patch does not end with the line '*** End Patch'; it may be cut off.");
  const reader = new Reader(lines.slice(0, -1), begin + 1);
  const files: FilePatch[] = [];
  while (!reader.atEnd()) files.push(readFile(reader));
  if (files.length === 0) throw new PatchError('The patch changes no file.');
  return files;
}

class Reader {
  constructor(
    private readonly lines: readonly string[],
    public at: number,
  ) {}

  /** The number of the current line, from 1. */
  get number(): number {
    return this.at + 1;
  }

  get line(): string {
    return this.lines[this.at] ?? '';
  }

  atEnd(): boolean {
    return this.at >= this.lines.length;
  }

  /** Whether the current line begins another file, or is outside any. */
  atHeader(): boolean {
    return this.atEnd() || this.line.startsWith('*** ');
  }
}

function readFile(reader: Reader): FilePatch {
  const [, kind, path = ''] = header.exec(reader.line) ?? [];
  const begin = reader.number;
  if (kind === undefined || kind === 'Move to') {
    throw refuseAt(begin, "must be '*** Add File: <path>', '*** Update File: <path>' or '*** Delete File: <path>'.");
  }
  reader.at += 1;
  if (kind === 'Add File') return { kind: 'add', path: path.trim(), content: readContent(reader) };
  if (kind === 'Delete File') return { kind: 'delete', path: path.trim(), hunks: [] };
  const [, next, to = ''] = header.exec(reader.line) ?? [];
  if (next === 'Move to') reader.at += 1;
  const hunks = readHunks(reader);
  if (next !== 'Move to' && hunks.every(({ lines }) => lines.every(({ op }) => op === ' '))) {
    throw refuseAt(begin, `updates '${path.trim()}' without a line that begins with + or -.`);
  }
  return { kind: 'update', path: path.trim(), hunks, ...(next === 'Move to' && { moveTo: to.trim() }) };
}

function readContent(reader: Reader): string {
  const lines: string[] = [];
  for (; !reader.atHeader(); reader.at += 1) {
    if (!reader.line.startsWith('+')) throw refuseAt(reader.number, 'must begin with +, as every line of an added file.');
    lines.push(`${reader.line.slice(1)}\n`);
  }
  return lines.join('');
}

function readHunks(reader: Reader): Hunk[] {
  const hunks: Hunk[] = [];
  while (!reader.atHeader()) hunks.push(readHunk(reader));
  return hunks;
}

function readHunk(reader: Reader): Hunk {
  const hunk: Hunk = { lines: [], patchLine: reader.number };
  const [, below] = /^@@(?: (.*))?$/.exec(reader.line) ?? [];
  if (reader.line.startsWith('@@')) {
    // The line numbers of a unified diff say nothing here: the lines of the hunk are sought.
    const plain = below?.replace(/^-\d+(,\d+)? \+\d+(,\d+)? @@ ?/, '').replace(/ @@$/, '');
    if (plain) hunk.below = plain;
    reader.at += 1;
  }
  for (; !reader.atHeader() && !reader.line.startsWith('@@'); reader.at += 1) {
    const { line } = reader;
    const op = line === '' ? ' ' : line[0];
    if (op !== ' ' && op !== '-' && op !== '+') throw refuseAt(reader.number, "must begin with ' ', '-', '+' or '@@'.");
    hunk.lines.push({ op, text: line.slice(1) });
  }
  if (reader.line === '*** End of File') {
    hunk.atEnd = true;
    reader.at += 1;
  }
  if (hunk.lines.length === 0) throw refuseAt(hunk.patchLine, 'begins a hunk without lines.');
  return hunk;
}
