import { isBegin, parseBeginPatch } from './begin-patch';
import { type FilePatch, PatchError } from './file-patch';
import { parseUnifiedDiff } from './unified-diff';

/** Parses a patch of either grammar. Throws `PatchError`. */
export function parsePatch(patch: string): FilePatch[] {
  if (isBegin(patch.trimStart().split('\n', 1)[0] ?? '')) return parseBeginPatch(patch);
  if (/^(--- |diff --git )/m.test(patch)) return parseUnifiedDiff(patch);
  throw new PatchError("The patch begins neither with '*** Begin Patch' nor, as a unified diff, with '--- <path>' and '+++ <path>'.");
}
