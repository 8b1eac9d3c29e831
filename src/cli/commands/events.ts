import { isDurable } from '../../core/event';
import { type FormatOptions, formatOf } from '../views/format-names';
import { createOutput } from '../views/output';
import { answerHint } from './answer-hint';
import { withClient } from './connect';
import { follow } from './follow';

/** Prints a thread's events from a seq on. */
export async function events(threadId: string, options: FormatOptions & { from: number; follow: boolean }): Promise<void> {
  const format = formatOf(options);
  // The output of a projection depends on earlier events.
  const first = format && format !== 'longhaul' ? 1 : options.from;
  const common = { format, hint: answerHint(threadId) };
  await withClient({}, async (client) => {
    const thread = client.attach(threadId);
    const leaving = new AbortController();
    const leave = () => leaving.abort();
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, leave);
    if (options.follow) {
      const output = createOutput({ ...common, about: { from: options.from } });
      await follow(thread, { from: first, output, signal: leaving.signal });
      return;
    }
    const { seq, model, facts } = await thread.status();
    if (options.from > seq) return;
    const about = { from: options.from, ...(model && { model }), ...(facts?.contextWindow && { contextWindow: facts.contextWindow }) };
    const output = createOutput({ ...common, about });
    for await (const event of thread.events({ from: first, live: false, signal: leaving.signal })) {
      output.event(event);
      if (isDurable(event) && event.seq >= seq) break;
    }
  });
}
