import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import { callTools, say } from '../../src/testing/model-server';
import { type ApprovalPolicy, defineTool, suspend } from '../../src/tools';
import { startRig, until } from '../support/rig';
import { handleOf, reaches } from './asking';
import { ofType, scenes, story } from './scenes';

const { script, scene } = scenes();
/** Long enough for every thread to be waiting before it, even on a slow machine. */
const deadlineMs = 15_000;
const input = z.object({});
const paid: string[] = [];
const paying = (name: string, approval: ApprovalPolicy<unknown>) =>
  defineTool({
    name,
    description: 'Pays.',
    input,
    approval: { deadlineMs, ...approval },
    execute: (_, { threadId }) => `paid ${paid.push(threadId)}`,
  });
const tools = [
  paying('denies', {}),
  paying('allows', { onDeadline: 'approve' }),
  paying('asks_on', { onDeadline: ['ask-again'] }),
  defineTool({ name: 'question', description: 'Asks.', input, question: true, ask: { deadlineMs } }),
  defineTool({
    name: 'mail',
    description: 'Mails.',
    input,
    execute: (_, { threadId }) => suspend({ result: 'sent', correlationId: `mail-${threadId}`, ttlMs: deadlineMs }),
  }),
];
const agent = defineAgent({ name: 'clerk', model: 'test-model', instructions: 'Ask.', tools });

test('a signal after a deadline that passed while no worker was up is late, unless it is a refusal', async () => {
  const rig = await startRig({ script, agents: [agent] });
  const waitingFor = async (name: string, status = 'requires_action') => {
    const replies = callTools([{ name, args: {}, id: 'call_1' }]);
    const thread = await rig.client.start(
      agent,
      scene(({ messages, body }) => (messages.at(-1)?.role === 'user' && body.tools ? replies : say('Well.'))),
    );
    await reaches(thread, status, 1);
    return thread;
  };
  const [denied, allowed, askedOn, asked, mailed] = await Promise.all([
    waitingFor('denies'),
    waitingFor('allows'),
    waitingFor('asks_on'),
    waitingFor('question'),
    waitingFor('mail', 'suspended'),
  ]);
  const all = [denied, allowed, askedOn, asked, mailed];
  const dueAt = Math.max(...(await Promise.all(all.map((thread) => thread.pending()))).flat().map((call) => Date.parse(call.dueAt ?? '')));
  await Promise.all(rig.workers.map((running) => running.stop()));
  expect(Date.now()).toBeLessThan(dueAt);
  await until(
    () => Date.now(),
    (now) => now > dueAt + 1_000,
    deadlineMs + 5_000,
  );

  const signal = (thread: Thread, name: string, payload: object) => handleOf(thread).signal(name, payload);
  await signal(denied, 'approve', { toolCallId: 'call_1', by: 'dana' });
  await signal(allowed, 'approve', { toolCallId: 'call_1', approved: false, by: 'dana' });
  await signal(askedOn, 'approve', { toolCallId: 'call_1', by: 'dana' });
  await signal(asked, 'submitToolOutputs', { outputs: [{ toolCallId: 'call_1', output: 'blue' }] });
  await signal(mailed, 'sendMessage', { input: 'Yes.', correlationId: `mail-${mailed.id}` });
  await rig.addWorker();

  const [ofDenied, ofAllowed, ofAskedOn, ofAsked, ofMailed] = await Promise.all(all.map(story));
  const decided = (told: typeof ofDenied) => ofType(told ?? [], 'agent.approval.decided').map(({ data }) => data);
  const rejected = (told: typeof ofDenied) => ofType(told ?? [], 'agent.request.rejected').map(({ data }) => data.reason);
  expect(decided(ofDenied)).toMatchObject([{ approved: false, source: 'deadline' }]);
  expect(rejected(ofDenied)).toEqual([expect.stringMatching(/^approve: the deadline of "call_1" \(denies\) passed at .*Z, before/)]);
  // The deadline would have let it run; a person said no.
  expect(decided(ofAllowed)).toMatchObject([{ approved: false, by: 'dana' }]);
  expect(rejected(ofAllowed)).toEqual([]);
  // The same people would have been asked the same again.
  expect(decided(ofAskedOn)).toMatchObject([{ approved: true, by: 'dana' }]);
  expect(ofType(ofAsked ?? [], 'agent.input.expired')).toHaveLength(1);
  expect(rejected(ofAsked)).toEqual([expect.stringMatching(/^submitToolOutputs: the deadline of "call_1" \(question\) passed at/)]);
  expect(ofMailed?.at(-1)).toMatchObject({ type: 'thread.run.expired', data: { reason: 'suspended' } });
  expect(rejected(ofMailed)).toEqual([expect.stringMatching(/^sendMessage: a reply to "mail-.*" was waited for until .*Z/)]);
  expect(paid).toEqual([askedOn.id]);
});
