import { realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, relative } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { openWorkspace } from '../built-in/open-workspace';
import type { Entry } from '../built-in/workspace';
import { fewAtOnce } from '../running/few-at-once';
import { type ProjectFile, readProjectFile, readProjectHead } from './project-file';
import { foldersFromRoot } from './repository';

const place = join('.agents', 'skills');
/** Folders of skills may be grouped in folders. */
const mostDepth = 3;
const mostSkills = 200;
const mostFolders = 1_000;
/** Of all folders that one search reads. */
const mostEntries = 20_000;
const mostFileBytes = 256 * 1024;
/** The name and the description are in the first bytes. */
const headBytes = 16 * 1024;

/** Instructions for one kind of task, in a file `SKILL.md` that begins with its name and description. */
export interface Skill {
  name: string;
  description: string;
  /** Absolute path of its file. */
  path: string;
  /** The folder of skills that the file is in. */
  base: string;
}

/** One search of the process runs at a time: a model can ask for a hundred skills at once. */
const inTurn = fewAtOnce(1);
/** Searches that have not begun yet. */
const waiting = new Map<string, Promise<readonly Skill[]>>();

/**
 * The skills of a folder's repository, of the folders on the way to it, and of the worker's user: `.agents/skills` in each of them. Whoever asks before
 * a search has begun shares it.
 */
export function findSkills(folder: string, home: string = homedir()): Promise<readonly Skill[]> {
  const key = JSON.stringify([folder, home]);
  const shared = waiting.get(key);
  if (shared !== undefined) return shared;
  const search = inTurn(async () => {
    // Calls that were begun together share one search.
    await nextTurn();
    waiting.delete(key);
    return skillsOf(folder, home);
  }, folder);
  waiting.set(key, search);
  return search;
}

/** A skill's whole text; `undefined` if its file can't be read any more, or is not text. */
export function readSkill({ base, path }: Skill): Promise<ProjectFile | undefined> {
  return readProjectFile(base, relative(base, path), mostFileBytes);
}

async function skillsOf(folder: string, home: string): Promise<Skill[]> {
  const found: Skill[] = [];
  const left = { entries: mostEntries };
  for (const base of await basesOf(folder, home)) {
    for (const path of await skillFiles(base, left)) {
      if (found.length >= mostSkills) return found;
      const head = readHead((await readProjectHead(base, path, { mostBytes: mostFileBytes, headBytes })) ?? '');
      if (head) found.push({ ...head, path: join(base, path), base });
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
async function skillFiles(base: string, left: { entries: number }): Promise<string[]> {
  const found: string[] = [];
  const waiting = [{ path: '', depth: 0 }];
  for (const { path, depth } of waiting) {
    if (left.entries <= 0) break;
    const entries = await entriesOf(base, path, left.entries);
    left.entries -= entries.length;
    if (entries.some((entry) => entry.isFile() && entry.name === 'SKILL.md')) found.push(join(path, 'SKILL.md'));
    else if (depth < mostDepth) {
      const folders = entries.filter((entry) => entry.isDirectory()).map((entry) => ({ path: join(path, entry.name), depth: depth + 1 }));
      waiting.push(...folders.slice(0, mostFolders - waiting.length));
    }
  }
  return found.sort();
}

async function entriesOf(base: string, path: string, most: number): Promise<Entry[]> {
  try {
    return (await (await openWorkspace(base)).list(join(base, path), { most })).entries;
  } catch {
    return [];
  }
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
