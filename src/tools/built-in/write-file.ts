import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { access, lstat, open, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { defineTool } from '../defining/define-tool';
import { codeOf, openWorkspace, pathError, type Workspace, WorkspaceError } from './workspace';

/**
 * Writes a whole file, and creates its folders. A reader sees the old text or the new one, never a mixture.
 * `keyed`, because writing the same content twice changes nothing.
 */
export const writeFile = defineTool({
  name: 'write_file',
  description: 'Write a text file: creates it, with its folders, or replaces what it held. Give the whole content.',
  input: z.object({
    path: z.string().min(1).describe('Relative to the workspace, or absolute inside it.'),
    content: z.string(),
  }),
  effect: 'keyed',
  async execute({ path, content }, ctx) {
    const workspace = await openWorkspace(ctx.workspace);
    const target = await workspace.inside(path);
    if (target === workspace.root || /[/\\]$/.test(path)) throw new WorkspaceError(`'${path}' is a folder. Name a file.`);
    try {
      await replaceFile(workspace, target, path, content, ctx.signal);
    } catch (error) {
      throw pathError(error, path);
    }
    return `Wrote ${Buffer.byteLength(content)} bytes to ${workspace.show(target)}`;
  },
});

async function replaceFile(workspace: Workspace, target: string, path: string, content: string, signal: AbortSignal): Promise<void> {
  const folder = await workspace.makeFolder(dirname(target));
  try {
    const place = join(folder.path, basename(target));
    const mode = await modeToKeep(place, path);
    const draft = join(folder.path, `.longhaul-${randomBytes(8).toString('hex')}.tmp`);
    const file = await open(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o666);
    try {
      try {
        await file.writeFile(content, 'utf8');
        if (mode !== undefined) await file.chmod(mode);
        await file.datasync();
      } finally {
        await file.close();
      }
      signal.throwIfAborted();
      await rename(draft, place);
    } catch (error) {
      await unlink(draft).catch(() => undefined);
      throw error;
    }
  } finally {
    await folder.handle.close();
  }
}

/** The permissions of the replaced file without setuid and setgid bits; `undefined` if there is no file. */
async function modeToKeep(place: string, path: string): Promise<number | undefined> {
  const before = await lstat(place).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (!before) return undefined;
  if (before.isDirectory()) throw new WorkspaceError(`'${path}' is a folder. Name a file.`);
  if (!before.isFile()) throw new WorkspaceError(`'${path}' is not a regular file.`);
  // A rename would succeed anyway, but a file is read-only on purpose.
  await access(place, constants.W_OK);
  return before.mode & 0o777;
}
