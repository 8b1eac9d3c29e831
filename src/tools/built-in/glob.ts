import { join } from 'node:path';
import { z } from 'zod';
import { defineTool } from '../defining/define-tool';
import { shownPath } from './list-dir';
import { openWorkspace } from './open-workspace';
import { filesOf } from './plain-search';
import { inTurn, runRipgrep, type Target, targetOf } from './ripgrep';
import { type Workspace, WorkspaceError } from './workspace';

/** More files than this are not listed. */
const mostFiles = 200_000;
const timeoutMs = 30_000;

/** Lists files by a glob, in the order of their paths, without those that `.gitignore` excludes. */
export const globFiles = defineTool({
  name: 'glob',
  description:
    'Find files by a glob such as "*.test.ts" (in any folder) or "src/**/*.{ts,tsx}" (from path on). Sorted by path. Leaves out what .gitignore excludes, .git, and what is behind symbolic links. Where "[... K more files ...]" ends the answer, go on with offset.',
  input: z.object({
    pattern: z.string().min(1).max(1_000).describe('In the syntax of .gitignore.'),
    path: z.string().min(1).default('.').describe('The folder to search, relative to the workspace.'),
    offset: z.number().int().min(1).default(1).describe('The first file, counted from 1.'),
    limit: z.number().int().min(1).max(1_000).default(100).describe('How many files at most.'),
  }),
  effect: 'pure',
  timeoutMs: timeoutMs + 5_000,
  async execute({ pattern, path, offset, limit }, ctx) {
    const workspace = await openWorkspace(ctx.workspace, ctx);
    const target = await targetOf(workspace, path);
    if (target.name !== undefined) throw new WorkspaceError(`'${path}' is a file. Name a folder.`);
    const [matching, listed] = await inTurn(() =>
      Promise.all([filesIn(workspace, target, ctx.signal, pattern), filesIn(workspace, target, ctx.signal)]),
    );
    const isListed = new Set(listed.files);
    const found = matching.files.filter((name) => isListed.has(name));
    const isComplete = matching.isComplete && listed.isComplete;
    const total = `${isComplete ? '' : 'more than '}${found.length}`;
    if (found.length === 0) return isComplete ? 'No files found.' : 'No files found before the search was stopped. Name a narrower path.';
    if (offset > found.length) return `[offset ${offset} is past the end: there are ${total} files]`;
    const shown = found.slice(offset - 1, offset - 1 + limit).map((name) => shownPath(workspace.show(join(target.folder, name))));
    const more = found.length - (offset - 1) - shown.length;
    if (more > 0 || !isComplete) shown.push(`[... ${isComplete ? '' : 'more than '}${more} more files ...]`);
    return shown.join('\n');
  },
});

export interface FileList {
  /** Relative to the folder, in their order. */
  files: string[];
  isComplete: boolean;
}

/** The files of a folder: those that `.gitignore` does not exclude; or, with a glob, those that match it, excluded or not. */
export async function filesIn(workspace: Workspace, target: Target, signal: AbortSignal, glob?: string): Promise<FileList> {
  const files: string[] = [];
  if (!workspace.local) {
    for await (const path of filesOf(workspace, target, { signal, ...(glob !== undefined && { glob }) })) files.push(path);
    return { files, isComplete: true };
  }
  const onRecord = (record: string) => files.push(record.replace(/^\.\//, '')) < mostFiles;
  const search = {
    args: ['--files', '--null'],
    separator: '\0' as const,
    onRecord,
    signal,
    timeoutMs,
    ...(glob !== undefined && { glob }),
  };
  const { timedOut } = await runRipgrep(workspace.local, target, search);
  return { files, isComplete: !timedOut && files.length < mostFiles };
}
