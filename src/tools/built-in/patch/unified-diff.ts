import { type FilePatch, type Hunk, type HunkLine, PatchError, patchLines, refuseAt } from './file-patch';

/** What stands before the hunks of one file. */
interface Head {
  from?: string;
  to?: string;
  renameFrom?: string;
  renameTo?: string;
  mode?: number;
  patchLine: number;
}

/** Parses a unified diff, as `diff -u` and `git diff` write it: one or several files, `/dev/null` for added and deleted ones, and renames. */
export function parseUnifiedDiff(diff: string): FilePatch[] {
  const lines = patchLines(diff.replace(/\n$/, ''));
  const files: FilePatch[] = [];
  for (let at = 0; at < lines.length; ) {
    if (!beginsFile(lines, at)) {
      if (lines[at]?.startsWith('@@'))
        throw refuseAt(at + 1, "does not belong to a file: its lines '--- <path>' and '+++ <path>' are missing.");
      at += 1;
      continue;
    }
    const { head, next } = readHead(lines, at);
    const { hunks, end } = readHunks(lines, next);
    files.push(filePatch(head, hunks));
    at = end;
  }
  if (files.length === 0) throw new PatchError('The patch changes no file.');
  return files;
}

function beginsFile(lines: readonly string[], at: number): boolean {
  return /^diff --git /.test(lines[at] ?? '') || isFilePair(lines, at);
}

function isFilePair(lines: readonly string[], at: number): boolean {
  return lines[at]?.startsWith('--- ') === true && lines[at + 1]?.startsWith('+++ ') === true;
}

function readHead(lines: readonly string[], begin: number): { head: Head; next: number } {
  const head: Head = { patchLine: begin + 1 };
  let at = begin;
  if (lines[at]?.startsWith('diff --git ')) {
    for (at += 1; at < lines.length && !beginsFile(lines, at) && !lines[at]?.startsWith('@@'); at += 1)
      readExtended(lines[at] ?? '', at + 1, head);
  }
  if (isFilePair(lines, at)) {
    head.from = pathOf(lines[at] ?? '', at + 1);
    head.to = pathOf(lines[at + 1] ?? '', at + 2);
    at += 2;
  }
  return { head, next: at };
}

function readExtended(line: string, number: number, head: Head): void {
  const [, key = '', value = ''] =
    /^(rename from|rename to|new file mode|new mode|copy from|GIT binary patch|Binary files)(?: (.*))?$/.exec(line) ?? [];
  if (key === 'rename from') head.renameFrom = value;
  else if (key === 'rename to') head.renameTo = value;
  else if (key === 'new file mode') head.mode = modeOf(value, number);
  else if (key !== '') throw refuseAt(number, `('${key}') can't be applied: only text is patched, not modes, copies and binary files.`);
}

function modeOf(mode: string, number: number): number {
  if (mode === '100644' || mode === '100755') return Number.parseInt(mode.slice(3), 8);
  throw refuseAt(number, `has the mode ${mode}; only regular files (100644, 100755) can be added.`);
}

/** `undefined` for `/dev/null`. A time stamp may follow after a tab. */
function pathOf(line: string, number: number): string | undefined {
  const [path = ''] = line.slice(4).split('\t', 1);
  if (path.startsWith('"')) throw refuseAt(number, 'has a quoted path. Use the form *** Begin Patch for such files.');
  return path.trim() === '/dev/null' ? undefined : path.trim();
}

function filePatch({ from, to, renameFrom, renameTo, mode, patchLine }: Head, hunks: Hunk[]): FilePatch {
  if (renameFrom !== undefined && renameTo !== undefined) return { kind: 'update', path: renameFrom, moveTo: renameTo, hunks };
  if (from === undefined && to === undefined)
    throw refuseAt(patchLine, "begins a file whose lines '--- <path>' and '+++ <path>' are missing.");
  const isGit = (from === undefined || from.startsWith('a/')) && (to === undefined || to.startsWith('b/'));
  const plain = (path: string) => (isGit ? path.slice(2) : path);
  if (hunks.length === 0) throw refuseAt(patchLine, 'begins a file without hunks.');
  if (from === undefined) return { kind: 'add', path: plain(to as string), content: contentOf(hunks), ...(mode !== undefined && { mode }) };
  if (to === undefined) return { kind: 'delete', path: plain(from), hunks };
  if (plain(from) === plain(to)) return { kind: 'update', path: plain(from), hunks };
  // `diff -u old new` compares two files; the patch is for the second.
  return { kind: 'update', path: plain(to), hunks };
}

function contentOf(hunks: readonly Hunk[]): string {
  const lines = hunks.flatMap((hunk) => hunk.lines);
  const [hunk] = hunks;
  const odd = lines.some(({ op }) => op !== '+');
  if (odd || hunks.length > 1)
    throw refuseAt(hunk?.patchLine ?? 1, 'begins an added file; it must be one hunk of lines that begin with +.');
  const text = lines.map((line) => line.text).join('\n');
  return hunk?.finalBreak?.after === false ? text : `${text}\n`;
}

function readHunks(lines: readonly string[], begin: number): { hunks: Hunk[]; end: number } {
  const hunks: Hunk[] = [];
  let at = begin;
  while (lines[at]?.startsWith('@@')) {
    const { hunk, end } = readHunk(lines, at);
    hunks.push(hunk);
    at = end;
  }
  return { hunks, end: at };
}

/** Reads as many lines as the header counts. Models miscount: if the counts are wrong, reads as long as lines look like those of a hunk. */
function readHunk(lines: readonly string[], begin: number): { hunk: Hunk; end: number } {
  const [, oldStart, oldCount = '1', , newCount = '1'] = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(lines[begin] ?? '') ?? [];
  if (oldStart === undefined) throw refuseAt(begin + 1, "is not a hunk header such as '@@ -12,5 +12,6 @@'.");
  const hunk: Hunk = { lines: [], patchLine: begin + 1, at: Number(oldStart) };
  const counted = endOfCounted(lines, begin + 1, Number(oldCount), Number(newCount));
  let end = begin + 1;
  while (counted === undefined ? isHunkLine(lines, end) : end < counted) end += 1;
  let last = counted ?? end;
  while (counted === undefined && lines[last - 1] === '') last -= 1;
  for (const line of lines.slice(begin + 1, last)) addLine(hunk, line);
  if (hunk.lines.length === 0) throw refuseAt(begin + 1, 'begins a hunk without lines.');
  return { hunk, end };
}

/** Where the counted lines end; `undefined` if the counts are wrong. */
function endOfCounted(lines: readonly string[], begin: number, oldCount: number, newCount: number): number | undefined {
  let [olds, news, at] = [oldCount, newCount, begin];
  for (; olds > 0 || news > 0; at += 1) {
    const line = lines[at];
    if (line === undefined || !/^([-+ \\]|$)/.test(line)) return undefined;
    if (line.startsWith('\\')) continue;
    if (!line.startsWith('+')) olds -= 1;
    if (!line.startsWith('-')) news -= 1;
    if (olds < 0 || news < 0) return undefined;
  }
  while (lines[at]?.startsWith('\\')) at += 1;
  const next = lines[at];
  // `-- ` begins the signature of a mail.
  return next === undefined || next === '-- ' || beginsFile(lines, at) || !/^[-+ ]/.test(next) ? at : undefined;
}

function isHunkLine(lines: readonly string[], at: number): boolean {
  return at < lines.length && /^([-+ \\]|$)/.test(lines[at] ?? '') && !isFilePair(lines, at);
}

function addLine(hunk: Hunk, line: string): void {
  if (!line.startsWith('\\')) {
    hunk.lines.push({ op: (line[0] ?? ' ') as HunkLine['op'], text: line.slice(1) });
    return;
  }
  // "\ No newline at end of file" is about the line before it.
  const { op } = hunk.lines.at(-1) ?? { op: ' ' };
  hunk.finalBreak = { ...hunk.finalBreak, ...(op !== '+' && { before: false }), ...(op !== '-' && { after: false }) };
}
