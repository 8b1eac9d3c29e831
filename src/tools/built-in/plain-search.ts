import { join, relative } from 'node:path';
import { ownFolder } from '../../core/own-folder';
import { ToolFailure } from '../defining/tool-failure';
import { readBytes } from './file-text';
import { globMatcher } from './glob-matcher';
import type { Search, Target } from './ripgrep';
import { openTextSearch } from './search-text';
import type { Workspace } from './workspace';

const excluded = ['.git', ownFolder];

/** The files of a target, in the order of their paths, which are relative to its folder. For a workspace in which ripgrep can't run. */
export async function* filesOf(workspace: Workspace, { folder, name }: Target, { glob, signal }: Pick<Search, 'glob' | 'signal'>) {
  const isMeant = glob === undefined ? () => true : globMatcher(glob);
  const all = name === undefined ? walk(workspace, folder, signal) : [join(folder, name)];
  for await (const real of all) {
    const path = relative(folder, real);
    if (isMeant(path)) yield path;
  }
}

async function* walk(workspace: Workspace, folder: string, signal: AbortSignal): AsyncGenerator<string> {
  signal.throwIfAborted();
  const { entries } = await workspace.list(folder, { most: Number.POSITIVE_INFINITY, signal });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (excluded.includes(entry.name)) continue;
    if (entry.isDirectory()) yield* walk(workspace, join(folder, entry.name), signal);
    else if (entry.isFile()) yield join(folder, entry.name);
  }
}

export interface PlainSearch extends Pick<Search, 'glob' | 'signal' | 'onRecord'> {
  /** A regular expression of JavaScript, for one line. */
  pattern: string;
  literal: boolean;
  ignoreCase: boolean;
  context: number;
  filesOnly: boolean;
  maxMatches: number;
  maxBytes: number;
}

/** Searches text files, and reports what ripgrep would print: the lines found, or the names of the files. */
export async function searchPlainly(workspace: Workspace, target: Target, search: PlainSearch): Promise<void> {
  const { pattern, literal, ignoreCase, context, filesOnly, maxBytes, onRecord } = search;
  // One more than may be shown, which tells that there are more.
  const asked = { pattern, regex: !literal, ignoreCase, before: context, after: context, maxMatches: search.maxMatches + 1, maxBytes };
  const thread = await openTextSearch();
  try {
    for await (const path of filesOf(workspace, target, search)) {
      const real = join(target.folder, path);
      const { bytes = Buffer.alloc(0) } = (await readBytes(workspace, real, path)) ?? {};
      if (bytes.includes(0)) continue;
      const { found, matches } = await thread.search({ ...asked, bytes }).catch((error: Error) => {
        throw new ToolFailure(`Error: the search failed: ${error.message}`);
      });
      if (matches === 0) continue;
      const records = filesOnly ? [path] : recordsOf(path, found);
      if (!records.every((record) => onRecord(record))) return;
    }
  } finally {
    thread.end();
  }
}

/** Lines as ripgrep prints them with `--null --line-number`. */
function recordsOf(path: string, found: string): string[] {
  return found.split('\n').flatMap((line) => {
    const [, number, sign, text = ''] = /^L(\d+)(?:([:-]) | )(.*)$/s.exec(line) ?? [];
    return number === undefined ? [] : [`${path}\0${number}${sign ?? ':'}${text}`];
  });
}
