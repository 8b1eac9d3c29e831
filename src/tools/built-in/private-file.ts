import { randomBytes } from 'node:crypto';
import { mkdir, open, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Replaces a file that only its owner can read. A reader sees either the old or the new content, also after a crash. Creates missing folders. */
export async function replacePrivateFile(file: string, content: string | Uint8Array): Promise<void> {
  const draft = join(dirname(file), `.${basename(file)}.${randomBytes(8).toString('hex')}.tmp`);
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const handle = await open(draft, 'wx', 0o600);
    try {
      await handle.writeFile(content);
      await handle.datasync();
    } finally {
      await handle.close();
    }
    await rename(draft, file);
  } catch (error) {
    await unlink(draft).catch(() => undefined);
    throw error;
  }
}
