/**
 * A conversation that survives its terminal: type, leave with Ctrl-D, and continue later with the same name.
 *
 * `npx tsx examples/chat.ts my-chat`, with a worker in another terminal: `longhaul worker`
 */
import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { LonghaulClient, LonghaulError, type Thread, wordsOf } from 'longhaul';

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
  // Created only now, because lines that are typed while nobody reads them are lost.
  const lines = createInterface({ input: from });
  try {
    for await (const line of lines) {
      if (line.trim() === '') continue;
      // If the thread does not exist yet, the first message starts it.
      if (seq === undefined) await client.start(agent, line, { id, mode: 'conversation' });
      else await thread.send(line);
      seq = await follow(thread, (seq ?? 0) + 1, to);
    }
  } finally {
    lines.close();
    if (!given) await client.close();
  }
}

/** The newest event's number, or undefined if the thread does not exist. */
async function seen(thread: Thread): Promise<number | undefined> {
  try {
    return (await thread.status()).seq;
  } catch (error) {
    if (error instanceof LonghaulError && error.code === 'thread-not-found') return undefined;
    throw error;
  }
}

/** Prints the agent's text until its run ends. It can resume from any number, so nothing is printed twice. */
async function follow(thread: Thread, from: number, to: Writable): Promise<number> {
  let seq = from - 1;
  for await (const event of thread.events({ from, live: false })) {
    const words = event.type === 'thread.message.completed' ? wordsOf(event.data.message.content) : '';
    if (words) to.write(`${words}\n`);
    if (event.type === 'thread.run.failed') to.write(`(failed: ${event.data.message})\n`);
    seq = event.seq ?? seq;
  }
  return seq;
}

if (require.main === module) {
  main({ id: process.argv[2] ?? 'chat' }).catch((error) => {
    console.error(error);
    process.exitCode = 1;
  });
}
