import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { Client } from '@temporalio/client';
import type { End } from '../pool';
import type { Violation } from './evidence';

/** Processes of the storm's tools that are left after every worker has exited. They are found by their working directory, the storm's folder. */
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

/** Workers that did not exit after they were asked to stop. */
export function stuckWorkers(ends: readonly End[]): Violation[] {
  return ends
    .filter(({ how }) => how === 'did not drain')
    .map(({ pid, slot, said }) => ({
      rule: 'worker did not stop',
      thread: '',
      what: `worker ${pid} in slot ${slot}: ${said.slice(-300)}`,
    }));
}

/** How long a worker that has just started may take until it polls. */
const beginsWithinMs = 30_000;

/** Workers that are up and do not poll; `pids` returns the workers that are up at the moment. */
export async function idleWorkers(client: Client, taskQueue: string, pids: () => readonly number[]): Promise<Violation[]> {
  const until = Date.now() + beginsWithinMs;
  for (;;) {
    const up = pids();
    const polls = await pollersOf(client, taskQueue);
    const idle = up.filter((pid) => !polls.has(`1 storm-${pid}`) || !polls.has(`2 storm-${pid}`));
    if (idle.length > 0 && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 1_000));
    else return idle.map((pid) => ({ rule: 'worker does not poll', thread: '', what: `worker ${pid} is up and does not poll` }));
  }
}

/** The identities of the pollers, as `1 NAME` for workflow tasks and `2 NAME` for activities. */
async function pollersOf(client: Client, taskQueue: string): Promise<Set<string>> {
  const polls = new Set<string>();
  for (const taskQueueType of [1, 2] as const) {
    const { pollers } = await client.workflowService.describeTaskQueue({
      namespace: 'default',
      taskQueue: { name: taskQueue },
      taskQueueType,
    });
    for (const { identity } of pollers ?? []) polls.add(`${taskQueueType} ${identity}`);
  }
  return polls;
}
