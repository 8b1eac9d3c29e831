/**
 * A conversation that outlives its terminal: type, leave with Ctrl-D, and come back with the same name.
 *
 * `npx tsx examples/chat.ts my-chat`, beside a worker: `longhaul worker`
 */
import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { LonghaulClient, LonghaulError, type Thread } from 'longhaul';

interface Setting {
  id: string;
  agent?: string;
  client?: LonghaulClient;
  from?: Readable;
  to?: Writable;
}

export async function main({ id, agent = 'coder', client: given, from = process.stdin, to = process.stdout }: Setting): Promise<void> {
  const client = given ?? (await LonghaulClient.connect());
  const thread = client.attach(id);
  let seq = await seen(thread);
  // Not before: what is typed while nobody reads the lines is lost.
  const lines = createInterface({ input: from });
  try {
    for await (const line of lines) {
      if (line.trim() === '') continue;
      // A thread that is not there yet begins with what is said first.
      if (seq === undefined) await client.start(agent, line, { id, mode: 'conversation' });
      else await thread.send(line);
      seq = await follow(thread, (seq ?? 0) + 1, to);
    }
  } finally {
    lines.close();
    if (!given) await client.close();
  }
}

/** The newest event's number, or nothing where there is no such thread. */
async function seen(thread: Thread): Promise<number | undefined> {
  try {
    return (await thread.status()).seq;
  } catch (error) {
    if (error instanceof LonghaulError && error.code === 'thread-not-found') return undefined;
    throw error;
  }
}

/** Shows what the agent says until its run is over. Resumes from any number: nothing is shown twice. */
async function follow(thread: Thread, from: number, to: Writable): Promise<number> {
  let seq = from - 1;
  for await (const event of thread.events({ from, live: false })) {
    if (event.type === 'thread.message.completed' && event.data.message.content) to.write(`${event.data.message.content}\n`);
    if (event.type === 'thread.run.failed') to.write(`(failed: ${event.data.message})\n`);
    if ('seq' in event) seq = event.seq;
  }
  return seq;
}

if (require.main === module) {
  main({ id: process.argv[2] ?? 'chat' }).catch((error) => {
    console.error(error);
    process.exitCode = 1;
  });
}
