/** What the index of a repository says of its files, for as far as it matters to what git looks into. */
export interface GitIndex {
  /** Whether it holds submodules, or folders as a whole. */
  hasMoreThanFiles: boolean;
  /** The paths of the files, each byte a character. */
  paths: string[];
}

const headerLength = 12;
const hashLength = 20;
/** Of an entry: the times, numbers and sizes before its hash, of which the mode is at 24. */
const statLength = 40;
const longName = 0xfff;

/** The longest path that a system takes, and as many bytes of them all as an honest index of the size that is read at all has. */
const most = { pathBytes: 4_096, allBytes: 20_000_000 };

/**
 * Reads an index of the versions 2 to 4, as `gitformat-index` describes it, of a repository with SHA-1. `undefined` where it is not understood
 * in full, or has its entries in another file too (a split index).
 */
export function readGitIndex(bytes: Buffer): GitIndex | undefined {
  try {
    return readEntries(bytes);
  } catch {
    // It ends too early.
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
    // In version 4 a few bytes make a path of any length out of the one before.
    if (path.length > most.pathBytes || total > most.allBytes || !isBelowTheTop(path)) return undefined;
    found.paths.push(path);
    // Before version 4 an entry is filled up with one to eight NULs.
    at = version === 4 ? nameEnd + 1 : at + ((nameEnd - at + 8) & ~7);
  }
  return hasPlainExtensions(bytes, at) ? found : undefined;
}

/** Git follows whatever path an index has, also out of the workspace, though it writes no such path itself. */
function isBelowTheTop(path: string): boolean {
  return path.split('/').every((name) => name !== '' && name !== '.' && name !== '..' && name.toLowerCase() !== '.git');
}

/** What an entry of version 4 keeps of the path before it, and where its own part of the name begins. */
function keptOf(before: string, bytes: Buffer, start: number): [kept: string, nameAt: number] {
  let at = start;
  let byte = bytes.readUInt8(at++);
  let dropped = byte & 0x7f;
  while (byte & 0x80) {
    byte = bytes.readUInt8(at++);
    dropped = (dropped + 1) * 128 + (byte & 0x7f);
  }
  if (dropped > before.length) throw new RangeError('More is dropped than there was.');
  return [before.slice(0, before.length - dropped), at];
}

/** Extensions that git must understand begin with a small letter: they add entries, or change what entries mean. */
function hasPlainExtensions(bytes: Buffer, start: number): boolean {
  const end = bytes.length - hashLength;
  let at = start;
  while (at < end) {
    if (!/^[A-Z]/.test(bytes.toString('latin1', at, at + 4))) return false;
    at += 8 + bytes.readUInt32BE(at + 4);
  }
  return at === end;
}
