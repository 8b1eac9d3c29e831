import { type AgentEvent, isDurable } from '../src/core/event';
import type { Crowd } from './crowd';
import { append } from './ledger';
import type { ThreadPlan } from './plan';
import { random } from './random';
import { hashOf, type ReaderLine } from './reader-line';

/** Reads a thread from any position in its log; now and then it disconnects, and continues at the same position. */
export async function read(crowd: Crowd, { id }: ThreadPlan, reader: number, stopped: () => boolean): Promise<void> {
  const rng = random(crowd.seed, id, 'reader', reader);
  let next = rng.chance(0.6) ? 1 : rng.between(2, 30);
  while (!stopped()) {
    const leave = new AbortController();
    const patience = crowd.pause(rng.between(1_000, 15_000)).then(() => leave.abort());
    const from = next;
    try {
      for await (const event of crowd.client.attach(id).events({ from, signal: leave.signal, live: rng.chance(0.5) })) {
        if (!isDurable(event)) continue;
        append(crowd.readersFile, lineOf(id, `${reader}@${process.pid}`, from, event));
        next = event.seq + 1;
      }
      if (!leave.signal.aborted) return;
    } catch {
      // The thread does not exist yet, or no worker answers: retry.
    }
    await Promise.race([patience, crowd.pause(rng.between(200, 2_000))]);
  }
}

function lineOf(thread: string, reader: string, from: number, event: Extract<AgentEvent, { seq: number }>): ReaderLine {
  return { thread, reader, from, seq: event.seq, type: event.type, timestamp: event.timestamp, hash: hashOf(event) };
}
