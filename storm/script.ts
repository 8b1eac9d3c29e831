import { callTools, fail, finish, type Reply, type ScriptedCall, say, thinking } from '../src/testing/model-replies';
import type { ScriptRequest, WireMessage } from '../src/testing/model-server';
import type { ThreadPlan } from './plan';
import { type Random, random } from './random';
import { pickTool, tools } from './tool-facts';

export interface Asked {
  thread: string;
  run: number;
  /** Within the run that people started, from 0. */
  turn: number;
}

/** Which thread, run and turn a request belongs to: the instructions name the thread, and the newest message that starts a run names the run. */
export function whoAsks(messages: readonly WireMessage[]): Asked {
  const thread = /thread=(\S+)/.exec(textOf(messages[0]))?.[1] ?? '';
  const begins = messages.findLastIndex((m) => m.role === 'user' && /\bgo \d+/.test(textOf(m)));
  const run = Number(/\bgo (\d+)/.exec(textOf(messages[begins]))?.[1] ?? 0);
  const turn = messages.slice(begins + 1).filter((m) => m.role === 'assistant').length;
  return { thread, run, turn };
}

/**
 * The model's answer. Which tools it calls, and when it is done, follows from seed, thread, run and turn. `n` marks this answer, so that two
 * attempts at the same turn never give the same answer.
 */
export function answer(seed: number, plan: ThreadPlan | undefined, { thread, run, turn }: Asked, n: string, request: ScriptRequest): Reply {
  const rng = random(seed, thread, 'run', run, 'turn', turn);
  const reply = content(rng, plan, turn, n, request);
  if (reply.kind === 'stream' && rng.chance(0.15)) reply.pace = { chunkMs: rng.between(5, 60), chunkSize: 30 };
  return rng.chance(0.05) && reply.kind === 'stream' ? thinking('Let me think.', reply) : reply;
}

function content(rng: Random, plan: ThreadPlan | undefined, turn: number, n: string, { body, messages }: ScriptRequest): Reply {
  const hasTools = body.tools !== undefined && body.tools.length > 0;
  if (!hasTools) return say(`In short: it is done. #${n}`);
  const turns = rng.between(1, plan?.turns ?? 1);
  if (plan && turn < turns && turn < plan.turns) {
    // Now and then a provider that restarts the numbers of its calls in every answer.
    const numbered = rng.chance(0.1);
    const calls = Array.from({ length: rng.weigh({ 1: 6, 2: 3, 3: 2, 5: 1 }) as unknown as number }, (_, i) =>
      call(rng, plan.kind, n, i, numbered),
    );
    const look = lookup(rng, n, messages);
    return callTools([...calls.slice(0, 5), ...(look ? [look] : [])], `I will. #${n}`);
  }
  if (plan?.agent === 'done') return callTools([{ name: 'done', args: { message: `done #${n}` }, id: `call_${n}_done` }]);
  if (plan?.agent === 'structured') return say(rng.chance(0.3) ? `no JSON #${n}` : JSON.stringify({ answer: `#${n}`, of: turn }));
  return rng.chance(0.03) ? finish('length', `cut short #${n}`) : say(`It is done. #${n}`);
}

/** Now and then a call that reads a stored output, by a reference that the model sees. */
function lookup(rng: Random, n: string, messages: readonly WireMessage[]): ScriptedCall | undefined {
  const refs = messages.flatMap((message) => [...textOf(message).matchAll(/ref=([0-9a-f]{32})/g)].map(([, ref = '']) => ref));
  if (refs.length === 0 || !rng.chance(0.3)) return undefined;
  return { id: `call_${n}_look`, name: 'grep_output', args: { ref: rng.pick(refs), pattern: 'line 1', max_matches: 5 } };
}

function call(rng: Random, kind: string, n: string, i: number, numbered: boolean): ScriptedCall {
  const id = numbered ? `call_${i}` : `call_${n}_${i}`;
  if (rng.chance(0.02)) return { id, name: 'nowhere', args: { n: `${n}.${i}` } };
  const name = pickTool(rng, kind);
  if (rng.chance(0.02)) return { id, name, rawArguments: '{"n":' };
  if (name === 'ask_human') return { id, name, args: { question: `Which of them, ${n}.${i}?` } };
  // Its processes must end with it, even when the worker is killed.
  if (name === 'shell')
    return { id, name, args: { command: `sleep 0.${rng.between(1, 9)}; echo ${n}.${i}; sleep ${rng.between(1, 4)}`, timeout: 10 } };
  const [low, high] = tools[name]?.ms ?? [0, 0];
  return { id, name, args: { n: `${n}.${i}`, ms: rng.between(low, high) } };
}

/** Whether the model is asked to summarize a transcript. */
export function isSummary(messages: readonly WireMessage[]): boolean {
  return textOf(messages[1]).startsWith('A conversation between a user and an assistant');
}

/** A summary, as models write it: sometimes empty, too long, or without tags. */
export function summarize(n: string): Reply {
  const rng = random(n, 'summary');
  return rng.pick([
    () => say(`<retain>\n- fact #${n}\n</retain>\n<summary>\nA part is done. #${n}\n</summary>`),
    () => say(`<retain>\n- fact #${n}\n</retain>\n<summary>\nA part is done. #${n}\n</summary>`),
    () => say(`A part is done, without tags. #${n}`),
    () => say(rng.chance(0.5) ? ' ' : 'far too long '.repeat(8_000)),
  ])();
}

/** The failure that the provider returns instead of an answer, for the first attempts at some turns. */
export function mishap(seed: number, { thread, run, turn }: Asked, attempt: number, n: string): Reply | undefined {
  const rng = random(seed, thread, 'mishap', run, turn);
  if (!rng.chance(0.08) || attempt >= rng.between(1, 2)) return undefined;
  const kind = rng.pick(['busy', 'broken', 'cut', 'stall', 'empty'] as const);
  if (kind === 'busy') return fail(429, { headers: { 'retry-after-ms': String(rng.between(50, 800)) } });
  if (kind === 'broken') return fail(503);
  const partial = { kind: 'stream' as const, text: `I was about to say #${n}`, finish: null };
  if (kind === 'cut') return { ...partial, end: 'cut' };
  return kind === 'stall' ? { ...partial, end: 'silence' } : { kind: 'stream', finish: 'stop', end: 'done' };
}

export function textOf(message: WireMessage | undefined): string {
  const { content: text = '' } = message ?? {};
  return typeof text === 'string' ? text : (text ?? []).map((part) => part.text ?? '').join('');
}
