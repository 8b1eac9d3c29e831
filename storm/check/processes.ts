import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { Client } from '@temporalio/client';
import type { End } from '../pool';
import type { Violation } from './evidence';

/** Commands of the storm's tools work in its folder; none may be left once every worker is gone. */
export function orphans(folder: string): Violation[] {
  if (!existsSync('/proc/self/environ')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      const command = commandOf(pid);
      return command && cwdOf(pid) === folder ? [{ rule: 'orphaned process', thread: '', what: `${pid} ${command.slice(0, 200)}` }] : [];
    });
}

function commandOf(pid: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return undefined;
  }
}

function cwdOf(pid: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').includes('\0') ? readlinkSync(`/proc/${pid}/cwd`) : undefined;
  } catch {
    return undefined;
  }
}

/** A worker that is told to stop stops; one that is up asks for work. */
export function stuckWorkers(ends: readonly End[]): Violation[] {
  return ends
    .filter(({ how }) => how === 'did not drain')
    .map(({ pid, slot, said }) => ({
      rule: 'worker did not stop',
      thread: '',
      what: `worker ${pid} in slot ${slot}: ${said.slice(-300)}`,
    }));
}

export async function idleWorkers(client: Client, taskQueue: string, pids: readonly number[]): Promise<Violation[]> {
  const polls = new Set<string>();
  for (const taskQueueType of [1, 2] as const) {
    const { pollers } = await client.workflowService.describeTaskQueue({
      namespace: 'default',
      taskQueue: { name: taskQueue },
      taskQueueType,
    });
    for (const { identity } of pollers ?? []) polls.add(`${taskQueueType} ${identity}`);
  }
  return pids
    .filter((pid) => !polls.has(`1 storm-${pid}`) || !polls.has(`2 storm-${pid}`))
    .map((pid) => ({ rule: 'worker does not poll', thread: '', what: `worker ${pid} is up and asks for no work` }));
}
