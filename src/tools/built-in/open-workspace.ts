import { mkdir } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import type { ToolContext } from '../defining/define-tool';
import { openLocalWorkspace } from './local-workspace';
import type { Workspace } from './workspace';

type Open = (folder: string) => Workspace;

/** Workspaces of this process that are no folders of the machine, by their roots. */
const mounted = new Map<string, Open>();

/**
 * Opens the workspace of a path: a folder of this machine, or a workspace that is mounted there. Throws `WorkspaceError` if it does not exist.
 * `fullAccess`: a folder of this machine does not confine the tools that use it.
 */
export async function openWorkspace(folder: string, { fullAccess }: Pick<ToolContext, 'fullAccess'> = {}): Promise<Workspace> {
  const open = mountAt(folder);
  return open ? open(resolve(folder)) : openLocalWorkspace(folder, fullAccess);
}

/** Creates the folder of a workspace, unless it exists. */
export async function makeWorkspace(folder: string): Promise<void> {
  if (!mountAt(folder)) await mkdir(folder, { recursive: true });
}

/** From now on, `openWorkspace` opens these paths with `open`: the root, which no folder of the machine has, and those below it. */
export function mountWorkspace(root: string, open: Open): () => void {
  mounted.set(root, open);
  return () => mounted.delete(root);
}

function mountAt(folder: string): Open | undefined {
  if (mounted.size === 0) return undefined;
  const path = resolve(folder);
  return [...mounted].find(([root]) => path === root || path.startsWith(root + sep))?.[1];
}
