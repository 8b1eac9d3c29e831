import { z } from 'zod';
import { defineTool } from '../defining/define-tool';
import { contentHash, expectedHash, staleHash } from './content-hash';
import { isText, readBytes } from './file-text';
import { replaceFile } from './replace-file';
import { openWorkspace, type Workspace, WorkspaceError } from './workspace';

/**
 * Writes a whole file, and creates its folders. A reader sees the old text or the new one, never a mixture.
 * `keyed`, because writing the same content twice changes nothing.
 */
export const writeFile = defineTool({
  name: 'write_file',
  description:
    'Write a text file: creates it, with its folders, or replaces what it held. Give the whole content. To change a part of a file, use edit or apply_patch.',
  input: z.object({
    path: z.string().min(1).describe('Relative to the workspace, or absolute inside it.'),
    content: z.string().refine(...isText),
    expected_hash: expectedHash,
  }),
  effect: 'keyed',
  async execute({ path, content, expected_hash: expected }, ctx) {
    const workspace = await openWorkspace(ctx.workspace);
    const target = await workspace.inside(path);
    if (expected !== undefined) await checkHash(workspace, target, { path, content, expected });
    await replaceFile(workspace, { target, path, content }, ctx.signal);
    return `Wrote ${Buffer.byteLength(content)} bytes to ${workspace.show(target)}`;
  },
});

/** A file that already has the new content is not stale: an earlier attempt at the same call may have written it. */
async function checkHash(
  workspace: Workspace,
  target: string,
  { path, content, expected }: { path: string; content: string; expected: string },
): Promise<void> {
  const before = await readBytes(workspace, target, path);
  const found = before && contentHash(before.bytes);
  if (found !== expected && found !== contentHash(Buffer.from(content))) throw new WorkspaceError(staleHash(path, expected, found));
}
