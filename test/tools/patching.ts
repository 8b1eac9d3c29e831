import { mkdir, readdir, readFile as readText, writeFile as writeText } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { applyPatch } from '../../src/tools/built-in/apply-patch';
import { newFolder, told } from './tool-host';

let calls = 0;

/** A workspace with these files. Each patch is a call of its own. */
export async function workspaceOf(files: Record<string, string>) {
  const workspace = await newFolder();
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(workspace, path)), { recursive: true });
    await writeText(join(workspace, path), content);
  }
  return {
    workspace,
    patch: (text: string, more: object = {}) =>
      told(applyPatch, { patch: text, ...more }, { workspace, idempotencyKey: `key-${(calls += 1)}` }),
    read: (path: string) => readText(join(workspace, path), 'utf8'),
    names: async () => (await readdir(workspace)).filter((name) => name !== '.longhaul').sort(),
  };
}

export const begin = (...lines: string[]) => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');
