import { z } from 'zod';
import { defineTool } from '../defining/define-tool';
import { expectedHash } from './content-hash';
import { isText } from './file-text';
import { openWorkspace } from './open-workspace';

/**
 * Writes a whole file, and creates its folders. A reader sees the old text or the new one, never a mixture.
 * `keyed`, because writing the same content twice changes nothing.
 */
export const writeFile = defineTool({
  name: 'write_file',
  description:
    'Write a text file: creates it, with its folders, or replaces what it held. Give the whole content. To change a part of a file, use edit or apply_patch.',
  input: z.object({
    path: z.string().min(1).describe('Relative to the workspace, or absolute.'),
    content: z.string().refine(...isText),
    expected_hash: expectedHash,
  }),
  effect: 'keyed',
  async execute({ path, content, expected_hash: expected }, ctx) {
    const workspace = await openWorkspace(ctx.workspace, ctx);
    const target = await workspace.inside(path);
    await workspace.write(target, content, { asked: path, signal: ctx.signal, ...(expected !== undefined && { expected }) });
    return `Wrote ${Buffer.byteLength(content)} bytes to ${workspace.show(target)}`;
  },
});
