import { join, relative } from 'node:path';
import type { ToolCall } from '../../core/message';
import { printableLine } from '../../core/printable';
import { readProjectFile } from './project-file';
import { foldersFromRoot } from './repository';
import { touchedFolders } from './touched-folders';

const fileName = 'AGENTS.md';
/** Bounds of what is added to each model call. */
const mostFiles = 16;
const mostFilesBelow = 16;
const mostFileBytes = 256 * 1024;
const mostCharacters = 64_000;

interface Found {
  path: string;
  text: string;
}

/**
 * What the files `AGENTS.md` say, as a part of the instructions; empty if there is none. They are those from the root of the repository to a folder
 * (the workspace), and, with `toolCalls`, those below it on the way to the files that these calls name. Read again at each call, so a changed file
 * counts from the next model call on.
 */
export async function projectInstructions(folder: string, { toolCalls = [] }: { toolCalls?: readonly ToolCall[] } = {}): Promise<string> {
  const folders = await foldersFromRoot(folder);
  const root = folders[0] as string;
  const above = await filesIn(root, folders.slice(-mostFiles));
  const touched = await filesIn(root, await touchedFolders(folder, toolCalls));
  const below = touched.slice(0, mostFilesBelow).sort((a, b) => (a.path < b.path ? -1 : 1));
  if (above.length + below.length === 0) return '';
  let room = mostCharacters;
  const sections = [...above, ...below].map(({ path, text }) => {
    const shown = text.length <= room ? text : `${text.slice(0, room)}\n[... ${text.length - room} more characters of this file ...]`;
    room = Math.max(0, room - text.length);
    return `<project_instructions path="${attribute(path)}">\n${shown}\n</project_instructions>`;
  });
  return [
    'The project has instructions of its own, from its root to the workspace, and in folders below. Each file is for its folder. Where they contradict each other, a later one counts. What the user asks comes first.',
    ...sections,
  ].join('\n\n');
}

/** A name of a folder may have any character. */
function attribute(path: string): string {
  return printableLine(path).replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
}

async function filesIn(root: string, folders: readonly string[]): Promise<Found[]> {
  const paths = folders.map((folder) => relative(root, join(folder, fileName)));
  const files = await Promise.all(paths.map((path) => readProjectFile(root, path, mostFileBytes)));
  return files.flatMap((file, i) => {
    const text = file?.text.trim();
    return text ? [{ path: paths[i] as string, text }] : [];
  });
}
