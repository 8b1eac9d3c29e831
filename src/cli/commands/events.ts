import type { Thread } from '../../client';
import type { StatusView } from '../../contract/thread';
import { isDurable } from '../../core/event';
import { type FormatOptions, formatOf } from '../views/format-names';
import { createOutput, type Output, type OutputOptions } from '../views/output';
import { answerHint } from './answer-hint';
import { withClient } from './connect';
import { follow } from './follow';

/** Prints a thread's events from a seq on. */
export async function events(threadId: string, options: FormatOptions & { from: number; follow: boolean }): Promise<void> {
  const format = formatOf(options);
  // The output of a projection depends on earlier events.
  const first = format && format !== 'longhaul' ? 1 : options.from;
  await withClient({}, async (client) => {
    const thread = client.attach(threadId);
    const leaving = new AbortController();
    const leave = () => leaving.abort();
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, leave);
    if (options.follow) {
      const now = await thread.status().catch(unlessNoWorker);
      const output = outputOf(thread, now, { format, about: { from: options.from } });
      await follow(thread, { from: first, output, signal: leaving.signal });
      return;
    }
    const now = await thread.status();
    const { seq, model, facts } = now;
    if (options.from > seq) return;
    const about = { from: options.from, ...(model && { model }), ...(facts?.contextWindow && { contextWindow: facts.contextWindow }) };
    const output = outputOf(thread, now, { format, about });
    for await (const event of thread.events({ from: first, live: false, signal: leaving.signal })) {
      output.event(event);
      if (isDurable(event) && event.seq >= seq) break;
    }
  });
}

/**
 * The output with the commands that answer calls: of the events that are recorded `now`, only for the calls that still wait. Without a worker nobody
 * knows which ones those are.
 */
function outputOf({ id }: Thread, now: StatusView | undefined, options: OutputOptions): Output {
  const hint = answerHint(id);
  const waiting = new Set(now?.pending.map(({ toolCallId }) => toolCallId));
  let isOver = false;
  const output = createOutput({ ...options, hint: (call) => (isOver && !waiting.has(call.toolCallId) ? '' : hint(call)) });
  return {
    ...output,
    event(event) {
      if (isDurable(event)) isOver = now !== undefined && event.seq <= now.seq;
      output.event(event);
    },
  };
}

/** A reader waits longer for a worker than a request does. */
function unlessNoWorker(error: unknown): undefined {
  if ((error as { code?: string }).code !== 'no-worker') throw error;
  return undefined;
}
