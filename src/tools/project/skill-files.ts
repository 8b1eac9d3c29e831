import { readdir, realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { readProjectFile } from './project-file';
import { foldersFromRoot } from './repository';

const place = join('.agents', 'skills');
/** Folders of skills may be grouped in folders. */
const mostDepth = 3;
const mostSkills = 200;
const mostFolders = 1_000;
const mostFileBytes = 256 * 1024;

/** Instructions for one kind of task, in a file `SKILL.md` that begins with its name and description. */
export interface Skill {
  name: string;
  description: string;
  /** Absolute path of its file. */
  path: string;
  text: string;
  hash: string;
}

/** The skills of a folder's repository, of the folders on the way to it, and of the worker's user: `.agents/skills` in each of them. */
export async function findSkills(folder: string, home: string = homedir()): Promise<Skill[]> {
  const found: Skill[] = [];
  for (const base of await basesOf(folder, home)) {
    for (const path of await skillFiles(base)) {
      if (found.length >= mostSkills) return found;
      const file = await readProjectFile(base, path, mostFileBytes);
      const head = file && readHead(file.text);
      if (head) found.push({ ...head, path: join(base, path), ...file });
    }
  }
  return found;
}

/** The folders of skills that exist. That of the user may be a link; one of a repository may not, because it could lead anywhere. */
async function basesOf(folder: string, home: string): Promise<Set<string>> {
  const ofRepository = (await foldersFromRoot(folder)).map((one) => join(one, place));
  const real = await Promise.all([...ofRepository, join(home, place)].map((base) => realpath(base).catch(() => undefined)));
  return new Set(real.filter((base, at) => base !== undefined && (at === ofRepository.length || base === ofRepository[at])) as string[]);
}

/** The paths of `SKILL.md` files below a folder, sorted. Links are not followed. */
async function skillFiles(base: string): Promise<string[]> {
  const found: string[] = [];
  const waiting = [{ path: '', depth: 0 }];
  for (let seen = 0; waiting.length > 0 && seen < mostFolders; seen += 1) {
    const { path, depth } = waiting.shift() as { path: string; depth: number };
    const entries = await readdir(join(base, path), { withFileTypes: true }).catch(() => []);
    if (entries.some((entry) => entry.isFile() && entry.name === 'SKILL.md')) found.push(join(path, 'SKILL.md'));
    else if (depth < mostDepth) {
      const folders = entries.filter((entry) => entry.isDirectory()).map((entry) => ({ path: join(path, entry.name), depth: depth + 1 }));
      waiting.push(...folders);
    }
  }
  return found.sort();
}

/** The name and description between the lines `---`; `undefined` if one of them is missing or not usable. */
function readHead(text: string): { name: string; description: string } | undefined {
  const [, head = ''] = /^---\r?\n(.*?)\r?\n---\s*(?:\n|$)/s.exec(text) ?? [];
  const name = fieldOf(head, 'name');
  const description = fieldOf(head, 'description');
  return /^[\w.-]{1,64}$/.test(name) && description !== '' ? { name, description: description.slice(0, 1_024) } : undefined;
}

/** A value of YAML's form `key: text`, possibly in quotes or over several indented lines. */
function fieldOf(head: string, key: string): string {
  const lines = head.split(/\r?\n/);
  const at = lines.findIndex((line) => line.startsWith(`${key}:`));
  if (at === -1) return '';
  const first = (lines[at] as string).slice(key.length + 1).trim();
  const rest = lines.slice(at + 1);
  const end = rest.findIndex((line) => line.trim() !== '' && !/^\s/.test(line));
  const more = rest.slice(0, end === -1 ? undefined : end).map((line) => line.trim());
  const text = [/^[|>][+-]?$/.test(first) ? '' : first, ...more].join(' ').replace(/\s+/g, ' ').trim();
  return /^(["']).*\1$/.test(text) ? text.slice(1, -1) : text;
}
