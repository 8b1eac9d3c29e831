import { join, relative, sep } from 'node:path';
import { isObject } from '../../core/json';
import type { ToolCall } from '../../core/message';
import { ownFolder } from '../../core/own-folder';
import { openWorkspace } from '../built-in/open-workspace';
import type { Workspace } from '../built-in/workspace';

/** Bounds of the work before each model call. Newer calls count first. */
const mostCalls = 500;
const mostPaths = 200;
const mostFolders = 200;
/** Names in a path. Deeper folders have no part in it. */
const mostNames = 32;

/** Packages of others and the data of git are not the project's. */
const foreign = ['node_modules', '.git', ownFolder];

/**
 * The folders below the workspace that contain a path of these calls of file tools, or are one: absolute, without links, those of the newest calls
 * first. Depends on the calls and the files alone, so it is the same on every worker.
 */
export async function touchedFolders(folder: string, calls: readonly ToolCall[]): Promise<string[]> {
  const paths = new Set<string>();
  for (const call of calls.slice(-mostCalls).toReversed()) {
    for (const path of pathsOf(call)) if (paths.size < mostPaths) paths.add(path);
  }
  if (paths.size === 0) return [];
  const workspace = await openWorkspace(folder).catch(() => undefined);
  if (!workspace) return [];
  const short = [...paths].filter((path) => path.split(/[/\\]/).length <= mostNames);
  // A path that leads out of the workspace has no folders in it.
  const reals = new Set(await Promise.all(short.map((path) => workspace.inside(path).catch(() => workspace.root))));
  const known = new Map<string, Promise<boolean>>();
  const folders = await Promise.all([...reals].map((real) => foldersTo(workspace, real, known)));
  return [...new Set(folders.flat())].slice(0, mostFolders);
}

/** From a path up to the workspace, without the latter, as far as there are folders. The path itself may be one. */
async function foldersTo(workspace: Workspace, real: string, known: Map<string, Promise<boolean>>): Promise<string[]> {
  if (real === workspace.root) return [];
  const names = relative(workspace.root, real).split(sep);
  if (names.length > mostNames || names.some((name) => foreign.includes(name))) return [];
  const folders: string[] = [];
  for (const at of names.map((_, i) => join(workspace.root, ...names.slice(0, i + 1)))) {
    const isFolder =
      known.get(at) ??
      workspace.stat(at).then(
        (found) => found?.isDirectory() === true,
        () => false,
      );
    known.set(at, isFolder);
    if (!(await isFolder)) break;
    folders.unshift(at);
  }
  return folders;
}

const withPath = ['read_file', 'write_file', 'edit', 'list_dir', 'glob', 'grep', 'view_image'];

function pathsOf({ name, arguments: text }: ToolCall): string[] {
  if (![...withPath, 'apply_patch', 'shell'].includes(name)) return [];
  const { path, patch, workdir } = argumentsOf(text);
  const found = name === 'shell' ? [workdir] : name === 'apply_patch' ? filesOfPatch(patch) : [path];
  return found.filter((one): one is string => typeof one === 'string' && one !== '');
}

function argumentsOf(text: string): Record<string, unknown> {
  try {
    const args: unknown = JSON.parse(text);
    return isObject(args) ? args : {};
  } catch {
    return {};
  }
}

/** By the lines that name files: a patch is not parsed again for each model call. */
function filesOfPatch(patch: unknown): string[] {
  if (typeof patch !== 'string') return [];
  const named = /^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |(?:\+\+\+|---) (?:[ab]\/)?)([^\t\r\n]+)/gm;
  return [...patch.matchAll(named)].map(([, path = '']) => path.trim());
}
