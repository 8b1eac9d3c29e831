import { styled } from '../views/styled';
import { table } from '../views/table';
import { note, print, printJson } from '../views/terminal';
import { programName } from './answer-hint';
import { withClient } from './connect';

/** Prints threads in the order of the server: open ones first, then those that closed last. */
export async function list({ query, limit, json }: { query?: string; limit: number; json?: boolean }): Promise<void> {
  const threads = await withClient({}, (client) => client.list({ limit, ...(query && { query }) }));
  if (json) {
    for (const thread of threads) printJson(thread);
    return;
  }
  if (threads.length === 0)
    return note(query ? styled`No thread matches the filter.` : styled`There are no threads. Start one with: ${programName()} run "…"`);
  const rows = threads.map(({ id, agent, status, execution, pendingTool, startedAt }) => ({
    cells: [
      id,
      agent,
      `${execution === 'COMPLETED' && status === 'idle' ? 'closed' : (status ?? execution.toLowerCase())}${pendingTool ? ` (${pendingTool})` : ''}`,
      startedAt.toISOString().slice(0, 19).replace('T', ' '),
    ],
  }));
  print(table(['THREAD', 'AGENT', 'STATUS', 'STARTED (UTC)'], rows, process.stdout.columns));
}
