import pc from 'picocolors';
import type { Thread } from '../client';
import type { PendingCall } from '../core/event';
import { parseObject } from '../core/json';
import { lineOf } from './exit';
import { NoAnswer, type Prompt } from './prompt';
import { printable } from './words';

/** Who answers the calls that wait while a run is followed. */
export interface Approvals {
  /** What the run rests on. `nobody`: no one here can answer it. */
  offer(pending: PendingCall[]): Promise<'nobody' | 'answering'>;
  /** Somebody, perhaps elsewhere, has decided. */
  decided(toolCallId: string): void;
}

/** Whether anything still waits decides, not what an old event says: a reader may come late. */
async function stillPending(thread: Thread, pending: PendingCall[]): Promise<PendingCall[]> {
  const ids = new Set(pending.map((call) => call.toolCallId));
  return (await thread.pending()).filter((call) => ids.has(call.toolCallId));
}

export function nobody(thread: Thread): Approvals {
  return {
    offer: async (pending) => ((await stillPending(thread, pending)).length > 0 ? 'nobody' : 'answering'),
    decided: () => undefined,
  };
}

/** `--yes`: every approval is given. An output from outside is nothing that can be agreed to. */
export function yesToAll(thread: Thread): Approvals {
  return {
    async offer(pending) {
      const waiting = await stillPending(thread, pending);
      const asked = waiting.filter((call) => call.kind === 'approval');
      for (const { toolCallId } of asked) {
        try {
          await thread.approve(toolCallId, { by: 'longhaul run --yes' });
        } catch (error) {
          // Somebody was faster: then it is decided, which is all that was wanted.
          if ((await stillPending(thread, asked)).some((call) => call.toolCallId === toolCallId)) throw error;
        }
      }
      return waiting.length > 0 && asked.length === 0 ? 'nobody' : 'answering';
    },
    decided: () => undefined,
  };
}

export interface Person {
  prompt: Prompt;
  write(text: string): void;
  /** Who decides, for the log. */
  by?: string;
  /** The person has left (end of input), or an answer could not be given. */
  onGone(error: unknown): void;
}

/** Asks the person at the terminal, one call after another, while events go on. */
export function askPerson(thread: Thread, person: Person): Approvals {
  const open = new Map<string, AbortController>();
  let queue: Promise<void> = Promise.resolve();
  return {
    async offer(pending) {
      for (const call of await stillPending(thread, pending)) {
        if (call.kind === 'output' || open.has(call.toolCallId)) continue;
        const withdrawn = new AbortController();
        open.set(call.toolCallId, withdrawn);
        queue = queue
          .then(() => (withdrawn.signal.aborted ? undefined : decide(thread, call, person, withdrawn.signal)))
          .catch((error) => (withdrawn.signal.aborted ? undefined : person.onGone(error)))
          .finally(() => open.delete(call.toolCallId));
      }
      return 'answering';
    },
    decided: (id) => open.get(id)?.abort(),
  };
}

async function decide(thread: Thread, call: PendingCall, { prompt, write, by }: Person, signal: AbortSignal): Promise<void> {
  write(`${pc.yellow(call.reason ? printable(call.reason) : `The agent asks to run ${call.name}:`)}\n${pretty(call.arguments)}\n`);
  for (;;) {
    const answer = (await prompt.ask(`Run ${pc.bold(call.name)}? ${pc.dim('[y]es, [n]o, [e]dit')} `, signal)).trim().toLowerCase();
    try {
      if (answer === 'y' || answer === 'yes') {
        await thread.approve(call.toolCallId, { ...(by && { by }) });
        return;
      }
      if (answer === 'n' || answer === 'no') {
        const reason = (await prompt.ask('Why not? The agent is told (Enter: no reason) ', signal)).trim();
        await thread.reject(call.toolCallId, { ...(by && { by }), ...(reason && { reason }) });
        return;
      }
      if (answer === 'e' || answer === 'edit') {
        const edited = parseObject(await prompt.ask('Arguments as one line of JSON: ', signal));
        if (edited) {
          await thread.approve(call.toolCallId, { ...(by && { by }), arguments: edited });
          return;
        }
        write('That is no JSON object; nothing was changed.\n');
      }
    } catch (error) {
      if (error instanceof NoAnswer || (error as { code?: string }).code !== 'request-refused') throw error;
      write(`${pc.red(lineOf(error))}\n`);
      if ((await stillPending(thread, [call])).length === 0) return;
    }
  }
}

/** The arguments as a person should see them before agreeing: all of them. */
function pretty(args: string): string {
  const value = parseObject(args);
  const lines = value
    ? Object.entries(value).map(([name, item]) => `${name}: ${typeof item === 'string' ? item : JSON.stringify(item)}`)
    : [args];
  return printable(lines.join('\n'))
    .split('\n')
    .map((text) => `    ${text}`)
    .join('\n');
}
