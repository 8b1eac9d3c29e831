import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ToolCall } from '../../src/core/message';
import type { Tool } from '../../src/tools/defining/define-tool';
import type { Execution } from '../../src/tools/running/run-tool';
import type { ToolHost } from '../../src/tools/running/run-within';
import { createToolbox } from '../../src/tools/running/toolbox';

export function hostWith(overrides: Partial<ToolHost> = {}): ToolHost {
  return {
    signal: new AbortController().signal,
    idempotencyKey: 'key-1',
    threadId: 'thread-1',
    runId: 'run-1',
    attempt: 1,
    workspace: tmpdir(),
    ...overrides,
  };
}

export function callOf(name: string, args: unknown): ToolCall {
  return { id: 'call-1', name, arguments: typeof args === 'string' ? args : JSON.stringify(args) };
}

/** One attempt at a call, without any engine around it. */
export function run(tool: Tool, args: unknown, overrides: Partial<ToolHost> = {}): Promise<Execution> {
  return createToolbox([tool]).execute(callOf(tool.name, args), hostWith(overrides));
}

/** The text the model would see. */
export async function told(tool: Tool, args: unknown, overrides: Partial<ToolHost> = {}): Promise<string> {
  const { outcome } = await run(tool, args, overrides);
  if (typeof outcome.content !== 'string') throw new Error('expected text');
  return outcome.content;
}

const folders: string[] = [];

/** A folder of its own, without symbolic links in its path. Removed by `removeFolders`. */
export async function newFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'longhaul-tools-')));
  folders.push(folder);
  return folder;
}

export async function removeFolders(): Promise<void> {
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
}
