import pc from 'picocolors';
import type { ThreadSummary } from '../client';
import { withClient } from './connect';
import { note, printJson } from './output';
import { printable } from './words';

/** Threads, newest first. */
export async function list({ query, limit, json }: { query?: string; limit: number; json?: boolean }): Promise<void> {
  const threads = await withClient({}, (client) => client.list({ limit, ...(query && { query }) }));
  if (json) {
    for (const thread of threads) printJson(thread);
    return;
  }
  if (threads.length === 0) return note('There are no threads. Start one with: longhaul run "…"');
  process.stdout.write(table(threads));
}

function table(threads: readonly ThreadSummary[]): string {
  const rows = threads.map(({ id, agent, status, execution, pendingTool, startedAt }) => [
    id,
    agent,
    `${status ?? execution.toLowerCase()}${pendingTool ? ` (${pendingTool})` : ''}`,
    startedAt.toISOString().slice(0, 19).replace('T', ' '),
  ]);
  const all = [['THREAD', 'AGENT', 'STATUS', 'STARTED (UTC)'], ...rows.map((row) => row.map(printable))];
  const widths = [0, 1, 2, 3].map((i) => Math.max(...all.map((row) => row[i]?.length ?? 0)));
  const lines = all.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return `${[pc.dim(lines[0] ?? ''), ...lines.slice(1)].join('\n')}\n`;
}
