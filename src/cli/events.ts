import { withClient } from './connect';
import { follow } from './follow';
import { answerHint, createOutput } from './output';

/** Prints a thread's events from a seq on. */
export async function events(threadId: string, options: { from: number; follow: boolean; json?: boolean }): Promise<void> {
  await withClient({}, async (client) => {
    const thread = client.attach(threadId);
    const leaving = new AbortController();
    const leave = () => leaving.abort();
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, leave);
    const output = createOutput({ ...(options.json && { json: true }), hint: answerHint(threadId) });
    if (options.follow) {
      await follow(thread, { from: options.from, output, signal: leaving.signal });
      return;
    }
    const { seq } = await thread.status();
    if (options.from > seq) return;
    for await (const event of thread.events({ from: options.from, live: false, signal: leaving.signal })) {
      output.event(event);
      if ('seq' in event && event.seq >= seq) break;
    }
  });
}
