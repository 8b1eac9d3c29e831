import { join, relative } from 'node:path';
import { readProjectFile } from './project-file';
import { foldersFromRoot } from './repository';

const fileName = 'AGENTS.md';
/** Bounds of what is added to each model call. */
const mostFiles = 16;
const mostFileBytes = 256 * 1024;
const mostCharacters = 64_000;

/**
 * What the files `AGENTS.md` say, from the root of the repository to a folder, as a part of the instructions; empty if there is none. Read again at
 * each call, so a changed file counts from the next model call on.
 */
export async function projectInstructions(folder: string): Promise<string> {
  const folders = await foldersFromRoot(folder);
  const root = folders[0] as string;
  let room = mostCharacters;
  const sections: string[] = [];
  for (const one of folders.slice(-mostFiles)) {
    const path = relative(root, join(one, fileName));
    const text = (await readProjectFile(root, path, mostFileBytes))?.text.trim();
    if (!text) continue;
    const shown = text.length <= room ? text : `${text.slice(0, room)}\n[... ${text.length - room} more characters of this file ...]`;
    room = Math.max(0, room - text.length);
    sections.push(`<project_instructions path="${path}">\n${shown}\n</project_instructions>`);
  }
  if (sections.length === 0) return '';
  return [
    'The project has instructions of its own, from its root to the workspace. Where they contradict each other, a later one counts. What the user asks comes first.',
    ...sections,
  ].join('\n\n');
}
