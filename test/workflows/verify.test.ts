import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { defineHooks } from '../../src/hooks';
import { callTools, say } from '../../src/testing/model-server';
import { defineTool, type ProbeAnswer, type ToolContext } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { ofType, requestsOf, scenes, story, textOf } from './scenes';

const { script, scene } = scenes();
const input = z.object({ id: z.string() });
type Args = z.infer<typeof input>;

/** What the tools did, by the call's `id`: the service's effects, and the questions about them. */
const begun: Record<string, string[]> = {};
const asked: Record<string, string[]> = {};
const hooked: string[] = [];
const answers: Record<string, ProbeAnswer> = {
  done: { status: 'done', output: 'paid before' },
  'not-done': { status: 'not-done' },
  unknown: { status: 'unknown' },
  caught: { status: 'unknown', reason: new Error('the bank is down') as never },
};

function note(notes: Record<string, string[]>, id: string, what: string): number {
  notes[id] = [...(notes[id] ?? []), what];
  return notes[id].length;
}

/** The first attempt has its effect and never returns. */
async function execute({ id }: Args, { idempotencyKey, signal }: ToolContext): Promise<string> {
  if (note(begun, id, idempotencyKey) > 1 || id.startsWith('fast')) return 'paid now';
  await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
  return 'never';
}

const verified = { description: 'Pays.', input, effect: 'verify' as const, execute };
const probe = ({ idempotencyKey, args: { id } }: { idempotencyKey: string; args: Args }): ProbeAnswer => {
  note(asked, id, idempotencyKey);
  return answers[id.split(' ')[1] ?? ''] ?? { status: 'unknown' };
};
const tools = [defineTool({ ...verified, name: 'pay', probe }), defineTool({ ...verified, name: 'pay_behind', background: true, probe })];
const hooks = defineHooks({
  'before:tool': [{ id: 'before', run: ({ call }) => void hooked.push(`before ${call.arguments}`) }],
  'after:tool': [
    {
      id: 'after',
      run({ call, status }) {
        hooked.push(`after ${call.arguments}`);
        return call.arguments.includes('fast again') && status === 'success' ? { retry: true } : undefined;
      },
    },
  ],
});
const agent = defineAgent({ name: 'payer', model: 'test-model', instructions: 'Pay.', tools, hooks });

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [agent] });
});

/** Starts a run whose call is interrupted in the middle, on a worker that shuts down. */
async function interrupted(name: string, id: string) {
  const words = scene([callTools([{ name, args: { id }, id: 'call_1' }]), say('Paid.'), say('All paid.')]);
  const thread = await rig.client.start(agent, words);
  await until(
    () => begun[id]?.length ?? 0,
    (times) => times === 1,
  );
  const [old, ...others] = rig.workers.splice(0);
  await rig.addWorker();
  rig.workers.push(...others);
  await old?.stop();
  return { words, told: await story(thread) };
}

test.each([
  ['done', 'success', 'paid before', 1],
  ['not-done', 'success', 'paid now', 2],
  ['unknown', 'unknown', "can't tell", 1],
  ['caught', 'unknown', 'the bank is down', 1],
])('an interrupted call whose probe answers %s has the outcome %s', async (answer, status, said, times) => {
  const id = `call ${answer}`;
  const { words, told } = await interrupted('pay', id);
  expect(ofType(told, 'agent.tool.execution.completed').map(({ data }) => data)).toMatchObject([{ status, attempts: 2 }]);
  expect(textOf(requestsOf(rig, words)[1]?.body.messages.at(-1))).toContain(said);
  expect(begun[id]).toHaveLength(times);
  // Every attempt and the probe had the same key.
  expect(asked[id]).toHaveLength(1);
  expect(new Set([...(begun[id] ?? []), ...(asked[id] ?? [])]).size).toBe(1);
  expect(hooked.filter((line) => line.includes(`"${id}"`))).toEqual([`before {"id":"${id}"}`, `after {"id":"${id}"}`]);
});

test('the probe of a call in the background is asked too', async () => {
  const { words, told } = await interrupted('pay_behind', 'behind done');
  expect(ofType(told, 'agent.tool.background.completed').map(({ data }) => data)).toMatchObject([{ status: 'success' }]);
  expect(requestsOf(rig, words).at(-1)?.body.messages.map(textOf).at(-1)).toContain('paid before');
  expect(begun['behind done']).toHaveLength(1);
});

test('a call that was never interrupted is not asked about, and one that a hook runs again is', async () => {
  const words = scene([
    callTools([{ name: 'pay', args: { id: 'fast' }, id: 'call_1' }]),
    callTools([{ name: 'pay', args: { id: 'fast again' }, id: 'call_2' }]),
    say('Paid.'),
  ]);
  answers.again = { status: 'done', output: 'paid before' };
  await story(await rig.client.start(agent, words));
  expect(asked.fast).toBeUndefined();
  expect(begun['fast again']).toHaveLength(1);
  expect(asked['fast again']).toHaveLength(2);
});
