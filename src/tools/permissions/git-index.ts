/** The contents of a repository's index that affect what git reads. */
export interface GitIndex {
  /** Whether it contains submodules, or whole folders. */
  hasMoreThanFiles: boolean;
  /** The paths of the files, each byte as a character. */
  paths: string[];
}

const headerLength = 12;
const hashLength = 20;
/** In an entry: the length of the times, numbers and sizes before its hash. The mode is at 24. */
const statLength = 40;
const longName = 0xfff;

/** The longest path that a system accepts; and the total of all paths in a normal index of the maximum size. */
const most = { pathBytes: 4_096, allBytes: 20_000_000 };

/**
 * Reads an index of version 2 to 4, as `gitformat-index` describes it, of a repository with SHA-1. Returns `undefined` if it is not fully
 * understood, or if some of its entries are in another file (a split index).
 */
export function readGitIndex(bytes: Buffer): GitIndex | undefined {
  try {
    return readEntries(bytes);
  } catch {
    // The index is truncated.
    return undefined;
  }
}

function readEntries(bytes: Buffer): GitIndex | undefined {
  const version = bytes.readUInt32BE(4);
  if (bytes.toString('latin1', 0, 4) !== 'DIRC' || version < 2 || version > 4) return undefined;
  const found: GitIndex = { hasMoreThanFiles: false, paths: [] };
  let at = headerLength;
  let path = '';
  let total = 0;
  for (let left = bytes.readUInt32BE(8); left > 0; left -= 1) {
    const kind = bytes.readUInt32BE(at + 24) & 0o170000;
    found.hasMoreThanFiles ||= kind !== 0o100000 && kind !== 0o120000;
    const flags = bytes.readUInt16BE(at + statLength + hashLength);
    const afterFlags = at + statLength + hashLength + (flags & 0x4000 ? 4 : 2);
    const [kept, nameAt] = version === 4 ? keptOf(path, bytes, afterFlags) : ['', afterFlags];
    const nameEnd = bytes.indexOf(0, nameAt);
    if (nameEnd === -1) return undefined;
    path = kept + bytes.toString('latin1', nameAt, nameEnd);
    if (path.length !== (flags & longName) && !((flags & longName) === longName && path.length > longName)) return undefined;
    total += path.length;
    // In version 4, a few bytes can create a path of any length from the previous one.
    if (path.length > most.pathBytes || total > most.allBytes || !isBelowTheTop(path)) return undefined;
    found.paths.push(path);
    // Before version 4, an entry is padded with one to eight NULs.
    at = version === 4 ? nameEnd + 1 : at + ((nameEnd - at + 8) & ~7);
  }
  return hasPlainExtensions(bytes, at) ? found : undefined;
}

/** Git follows any path in an index, even out of the workspace, although it never writes such a path itself. One expression, because it is fast. */
function isBelowTheTop(path: string): boolean {
  return !/(?:^|\/)(?:\.{0,2}|\.git)(?:\/|$)/i.test(path);
}

/** The prefix that a version 4 entry shares with the previous path, and the offset of its own part. */
function keptOf(before: string, bytes: Buffer, start: number): [kept: string, nameAt: number] {
  let at = start;
  let byte = bytes.readUInt8(at++);
  let dropped = byte & 0x7f;
  while (byte & 0x80) {
    byte = bytes.readUInt8(at++);
    dropped = (dropped + 1) * 128 + (byte & 0x7f);
  }
  if (dropped > before.length) throw new RangeError('The entry drops more than the previous path has.');
  return [before.slice(0, before.length - dropped), at];
}

/** Extensions that git must understand begin with a lowercase letter: they add entries, or change their meaning. */
function hasPlainExtensions(bytes: Buffer, start: number): boolean {
  const end = bytes.length - hashLength;
  let at = start;
  while (at < end) {
    if (!/^[A-Z]/.test(bytes.toString('latin1', at, at + 4))) return false;
    at += 8 + bytes.readUInt32BE(at + 4);
  }
  return at === end;
}
