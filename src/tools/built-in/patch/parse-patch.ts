import { excerpt } from '../../../core/json';
import { isBegin, parseBeginPatch } from './begin-patch';
import { type FilePatch, PatchError } from './file-patch';
import { parseUnifiedDiff } from './unified-diff';

/** Parses a patch of either grammar. Throws `PatchError`. */
export function parsePatch(patch: string): FilePatch[] {
  const files = filesIn(patch);
  for (const path of pathsOf(files)) refuseLineBreaks(path);
  return files;
}

/** The paths at which a patch changes files; none if it can't be parsed, because then it changes nothing. */
export function pathsOfPatch(patch: string): string[] {
  try {
    return pathsOf(parsePatch(patch));
  } catch (error) {
    if (error instanceof PatchError) return [];
    throw error;
  }
}

function filesIn(patch: string): FilePatch[] {
  if (isBegin(patch.trimStart().split('\n', 1)[0] ?? '')) return parseBeginPatch(patch);
  if (/^(--- |diff --git )/m.test(patch)) return parseUnifiedDiff(patch);
  throw new PatchError("The patch begins neither with '*** Begin Patch' nor, as a unified diff, with '--- <path>' and '+++ <path>'.");
}

function pathsOf(files: readonly FilePatch[]): string[] {
  return files.flatMap((file) => (file.kind === 'update' && file.moveTo !== undefined ? [file.path, file.moveTo] : [file.path]));
}

/** A person who reads such a path sees another one, and programs disagree about where it ends. */
function refuseLineBreaks(path: string): void {
  if (!/[\p{Cc}\u2028\u2029]/u.test(path)) return;
  const shown = JSON.stringify(excerpt(path, 200));
  throw new PatchError(`The path ${shown} in the patch has a control character or a line separator in it. Rename such files in the shell.`);
}
