import { join } from 'node:path';
import { type Reply, type ScriptRequest, startModelServer } from '../src/testing/model-server';
import { claim } from './kill-points';
import { append } from './ledger';
import { makePlan } from './plan';
import { type Asked, answer, isSummary, mishap, summarize, textOf, whoAsks } from './script';
import { speak } from './talk';

/** Arguments of the model process. It records the requests that it receives, and may kill the requesting worker in the middle of an answer. */
export interface ModelArguments {
  seed: number;
  minutes: number;
  kills: number;
  workers: number;
  folder: string;
}

const asked = JSON.parse(process.argv[2] ?? '{}') as ModelArguments;
const plans = new Map(makePlan(asked).threads.map((thread) => [thread.id, thread]));
const attempts = new Map<string, number>();
/** The number of answers to a run. A transcript that was shortened does not tell it. */
const answered = new Map<string, number>();
let count = 0;

async function main(): Promise<void> {
  const server = await startModelServer((request) => {
    const who = whoAsks(request.messages);
    const summary = isSummary(request.messages);
    if (plans.get(who.thread)?.kind === 'forgetting') who.turn = answered.get(`${who.thread}/${who.run}`) ?? 0;
    const n = `m${++count}`;
    const key = `${who.thread}/${who.run}/${who.turn}`;
    const attempt = attempts.get(key) ?? 0;
    attempts.set(key, attempt + 1);
    const reply = mishap(asked.seed, who, attempt, n) ?? (summary ? summarize(n) : turn(who, n, request));
    const authorization = server.requests[request.n]?.headers.authorization ?? '';
    // Otherwise the list would grow without bound.
    delete (server.requests as unknown as Record<number, unknown>)[request.n];
    const tokens = Math.ceil(JSON.stringify(request.body).length / 4);
    const saw = request.messages.slice(1).map(compact);
    append(join(asked.folder, 'model.jsonl'), { n, at: Date.now(), ...who, saw, tokens, ...(summary && { summary }) });
    return mayKill(Number(/w\d+\.(\d+)/.exec(authorization)?.[1] ?? 0), reply);
  });
  speak({ url: () => server.url });
}

function turn(who: Asked, n: string, request: ScriptRequest): Reply {
  const run = `${who.thread}/${who.run}`;
  answered.set(run, who.turn + 1);
  return answer(asked.seed, plans.get(who.thread), who, n, request);
}

/** A short form of a message, which is recorded for every request. */
function compact(message: Parameters<typeof textOf>[0]): string[] {
  const text = textOf(message);
  if (message?.role === 'assistant') return ['a', ...(message.tool_calls ?? []).map(({ id }) => id), /#(m\d+)/.exec(text)?.[1] ?? ''];
  return message?.role === 'tool' ? ['t', message.tool_call_id ?? ''] : ['u', text.slice(0, 60)];
}

/** Returns the reply to send, and kills the requesting worker if a kill point of the model is armed. */
function mayKill(pid: number, reply: Reply): Reply {
  if (pid === 0) return reply;
  const end = (ms: number) =>
    setTimeout(() => {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has already exited.
      }
    }, ms);
  if (claim(asked.folder, 'model-first-byte')) end(1);
  else if (reply.kind === 'stream' && claim(asked.folder, 'model-mid-stream')) {
    end(120);
    return { ...reply, pace: { chunkMs: 40, chunkSize: 5 } };
  } else if (reply.kind === 'stream' && claim(asked.folder, 'model-last-byte')) {
    end(4);
    return { ...reply, pace: undefined };
  }
  return reply;
}

void main();
