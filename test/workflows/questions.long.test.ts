import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import { defineHooks } from '../../src/hooks';
import { callTools, say } from '../../src/testing/model-server';
import { mcpTools } from '../../src/tools';
import type { McpServer } from '../../src/tools/mcp/options';
import { type Rig, startRig, until } from '../support/rig';
import { askingOverHttp, askingOverStdio, endAskingServers } from '../tools/mcp/asking-host';
import { ask, logOf, pester, reaches, refusal } from './asking';
import { ofType, requestsOf, scenes, story, textOf } from './scenes';

// A question that an MCP server asks in the middle of a call waits as long as a person needs, without an activity.
const { script, scene } = scenes();
const lateMs = 1_500;
const hooked: string[] = [];

let rig: Rig;
beforeAll(async () => {
  const [sessions, modern] = await Promise.all([askingOverHttp('sessions', true), askingOverHttp('modern', true)]);
  const stdio = askingOverStdio(true).server;
  const servers: Record<string, McpServer> = {
    stdio,
    sessions: sessions.server,
    modern: modern.server,
    ops: { ...stdio, questions: { groups: ['ops'] } },
    late: { ...stdio, questions: { deadlineMs: lateMs } },
    urgent: { ...stdio, questions: { deadlineMs: lateMs, onDeadline: [{ escalate: ['leads'] }, 'cancel'] } },
    asked: { ...stdio, approval: 'always' },
  };
  const tools = [mcpTools({ servers })];
  const more = { model: 'openai/scripted', instructions: 'Work.', tools };
  const watched = defineHooks({ 'before:tool': ({ call }) => void hooked.push(call.id) });
  rig = await startRig({
    script,
    agents: [
      defineAgent({ name: 'clerk', ...more }),
      defineAgent({ name: 'frugal', ...more, limits: { toolCalls: 1 } }),
      defineAgent({ name: 'watched', ...more, hooks: watched }),
    ],
    worker: { continueAsNewAfter: { events: 200, bytes: 4_000_000 } },
  });
});
afterAll(endAskingServers);

async function begin(name: string, { agent = 'clerk', args = {} }: { agent?: string; args?: object } = {}) {
  const input = scene([callTools([{ name, args, id: 'call_1' }]), say('Done.')]);
  const thread = await rig.client.start(agent, input);
  return { thread, told: () => (requestsOf(rig, input).at(-1)?.body.messages ?? []).filter(({ role }) => role === 'tool').map(textOf) };
}

async function asks(thread: Thread) {
  const { pending } = await reaches(thread, 'requires_action', 1);
  return pending[0];
}

test.each(['stdio', 'sessions', 'modern'])('over %s, the answer of a person reaches the server', async (way) => {
  const { thread, told } = await begin(`${way}__book`);
  const call = await asks(thread);
  expect(call).toMatchObject({
    kind: 'tool-question',
    toolCallId: 'call_1',
    name: `${way}__book`,
    question: { from: way, message: 'How many seats, and where?', schema: { required: ['seats'] } },
  });
  await thread.answerQuestion('call_1', {
    content: { seats: 2, place: 'a' },
    by: 'dana',
    ...(call?.question && { question: call.question }),
  });
  const events = await story(thread);
  expect(told()[0]).toContain('"content":{"seats":2,"place":"a"}');
  expect(ofType(events, 'agent.tool.question.asked').map(({ data }) => data)).toEqual([
    expect.objectContaining({ toolCallId: 'call_1', name: `${way}__book`, from: way, questionId: call?.question?.id }),
  ]);
  expect(ofType(events, 'agent.tool.question.answered').map(({ data }) => data)).toEqual([
    { toolCallId: 'call_1', questionId: call?.question?.id, action: 'accept', content: { seats: 2, place: 'a' }, by: 'dana' },
  ]);
  expect(ofType(events, 'agent.tool.execution.started')).toHaveLength(2);
  expect(ofType(events, 'agent.tool.execution.completed').map(({ data }) => data.status)).toEqual(['success']);
  expect((await thread.usage()).metrics.tools[`${way}__book`]).toMatchObject({ calls: 1 });
});

test('while a question waits, no activity runs and nothing moves', async () => {
  const { thread } = await begin('stdio__book');
  await asks(thread);
  const { raw } = await rig.client.temporal.workflow.getHandle(thread.id).describe();
  expect(raw.pendingActivities ?? []).toEqual([]);
  await thread.cancel();
});

test('a refusal and an answer that leaves it open are sent to the server as they are', async () => {
  for (const action of ['decline', 'cancel'] as const) {
    const { thread, told } = await begin('stdio__book');
    await asks(thread);
    await thread.answerQuestion('call_1', { action });
    expect((await story(thread)).at(-1)?.type).toBe('thread.run.completed');
    expect(told()).toEqual([JSON.stringify({ action })]);
  }
});

test('answers that do not fit are refused with the reason, and the question still waits', async () => {
  const { thread, told } = await begin('stdio__book');
  const call = await asks(thread);
  const refused = (payload: object) => refusal(ask(thread, 'answerQuestion', { toolCallId: 'call_1', ...payload }));
  const unfit: [object, string][] = [
    [{}, '"seats" is required'],
    [{ content: { seats: 10 } }, '"seats" must be at most 9'],
    [{ content: { seats: 1.5 } }, '"seats" must be a whole number'],
    [{ content: { seats: '2' } }, '"seats" must be a number'],
    [{ content: { seats: 2, place: 'Window' } }, '"place" must be one of "w", "a"'],
    [{ content: { seats: 2, extras: ['meal', 'bag'] } }, '"extras" must have at most 1 options'],
    [{ content: { seats: 2, extras: ['pets'] } }, '"extras" must contain only "meal", "bag"'],
    [{ content: { seats: 2, mail: 'nobody' } }, '"mail" must be an email address'],
    [{ content: { seats: 2, insured: 'yes' } }, '"insured" must be true or false'],
    [{ content: { seats: 2, more: 1 } }, 'the form has no field "more"; it has "seats"'],
    [{ content: { seats: 2, mail: `${'x'.repeat(300)}@example.com` }, action: 'decline' }, '`content` belongs to the action "accept"'],
    [{ content: [] }, '`content` must be an object'],
    [{ action: 'maybe' }, '`action` must be "accept", "decline", "cancel"'],
    [{ content: { seats: 2 }, questionId: 'question_0' }, `asks "${call?.question?.id}", and the answer is to "question_0"`],
  ];
  for (const [payload, why] of unfit) expect(await refused(payload)).toContain(why);
  expect(await refusal(ask(thread, 'submitToolOutputs', { outputs: [{ toolCallId: 'call_1', output: 'x' }] }))).toContain(
    'waits for an answer to the question of its tool (answerQuestion)',
  );
  expect(await refusal(ask(thread, 'approve', { toolCallId: 'call_1' }))).toContain('not for an approval');
  expect((await thread.pending()).map(({ kind }) => kind)).toEqual(['tool-question']);
  await thread.answerQuestion('call_1', { content: { seats: 1 } });
  await story(thread);
  expect(told()[0]).toContain('"seats":1');
  expect(await refusal(ask(thread, 'answerQuestion', { toolCallId: 'call_1', action: 'decline' }))).toBeTruthy();
});

test('two questions one after another wait one after another', async () => {
  const { thread, told } = await begin('stdio__two');
  await asks(thread);
  await thread.answerQuestion('call_1', { content: { seats: 4 } });
  await until(
    () => thread.pending(),
    ([call]) => call?.question?.message === 'Really?',
  );
  await thread.answerQuestion('call_1', { content: { yes: true } });
  const events = await story(thread);
  expect(told()).toEqual(['[{"action":"accept","content":{"seats":4}},{"action":"accept","content":{"yes":true}}]']);
  expect(ofType(events, 'thread.run.requires_action')).toHaveLength(2);
});

test('a question keeps to the people of its server', async () => {
  const { thread } = await begin('ops__book');
  expect(await asks(thread)).toMatchObject({ kind: 'tool-question', groups: ['ops'] });
  expect(await refusal(ask(thread, 'answerQuestion', { toolCallId: 'call_1', action: 'decline', by: 'eve' }))).toContain(
    'is for members of "ops" to answer',
  );
  await thread.answerQuestion('call_1', { action: 'decline', by: 'dana', groups: ['ops'] });
  expect((await story(thread)).at(-1)?.type).toBe('thread.run.completed');
});

test('at its deadline, the server is told that nobody chose an answer; or as the policy says', async () => {
  const [late, urgent] = [await begin('late__book'), await begin('urgent__book')];
  const events = await story(late.thread);
  expect(late.told()).toEqual(['{"action":"cancel"}']);
  const [asked] = ofType(events, 'agent.tool.question.asked');
  expect(Date.parse(asked?.data.dueAt ?? '') - Date.parse(asked?.timestamp ?? '')).toBe(lateMs);
  expect(ofType(events, 'agent.tool.question.answered')[0]?.data).toMatchObject({ action: 'cancel', source: 'deadline' });
  const escalated = await story(urgent.thread);
  expect(ofType(escalated, 'agent.approval.escalated')[0]?.data).toMatchObject({ toolCallId: 'call_1', groups: ['leads'] });
  expect(escalated.at(-1)).toMatchObject({
    type: 'thread.run.cancelled',
    data: { reason: expect.stringContaining('nobody answered for urgent__book') },
  });
});

test('a cancel while a question waits ends the call', async () => {
  const { thread } = await begin('stdio__book');
  await asks(thread);
  await thread.cancel({ reason: 'enough' });
  const events = await story(thread);
  expect(events.at(-1)).toMatchObject({ type: 'thread.run.cancelled', data: { reason: 'enough' } });
  expect(ofType(events, 'agent.tool.execution.completed')[0]?.data).toMatchObject({
    status: 'cancelled',
    output: expect.stringContaining('stdio__book asked a person a question, and was cancelled before an answer'),
  });
});

test('an answer during a pause is kept, and the call runs again when the thread is resumed', async () => {
  const { thread, told } = await begin('stdio__book');
  await asks(thread);
  await thread.pause({ reason: 'lunch' });
  await thread.answerQuestion('call_1', { content: { seats: 3 } });
  await reaches(thread, 'paused');
  expect(ofType(await logOf(thread), 'agent.tool.execution.started')).toHaveLength(1);
  await thread.resume();
  await story(thread);
  expect(told()[0]).toContain('"seats":3');
});

test('a question waits through continue-as-new, with the answers before it and its deadline', async () => {
  const { thread, told } = await begin('stdio__two');
  await asks(thread);
  await pester(thread);
  await thread.answerQuestion('call_1', { content: { seats: 5 } });
  await until(
    () => thread.pending(),
    ([call]) => call?.question?.message === 'Really?',
  );
  await pester(thread);
  expect(await refusal(ask(thread, 'answerQuestion', { toolCallId: 'call_1', content: { no: true } }))).toContain('has no field "no"');
  await thread.answerQuestion('call_1', { content: { yes: false } });
  const events = await story(thread);
  expect(told()).toEqual(['[{"action":"accept","content":{"seats":5}},{"action":"accept","content":{"yes":false}}]']);
  expect(ofType(events, 'agent.tool.question.asked')).toHaveLength(2);
});

test('a question outlives its worker, and another worker takes the answer', async () => {
  const { thread, told } = await begin('stdio__book');
  await asks(thread);
  await Promise.all(rig.workers.map((worker) => worker.stop()));
  rig.workers.splice(0);
  await rig.addWorker();
  await thread.answerQuestion('call_1', { content: { seats: 6 } });
  await story(thread);
  expect(told()[0]).toContain('"seats":6');
});

test('hooks see the call once, and a limit of calls counts it once', async () => {
  const watched = await begin('stdio__book', { agent: 'watched' });
  await asks(watched.thread);
  await watched.thread.answerQuestion('call_1', { content: { seats: 1 } });
  await story(watched.thread);
  expect(hooked).toEqual(['call_1']);
  const frugal = await begin('stdio__book', { agent: 'frugal' });
  await asks(frugal.thread);
  await frugal.thread.pause({ reason: 'lunch' });
  await frugal.thread.answerQuestion('call_1', { content: { seats: 1 } });
  await reaches(frugal.thread, 'paused');
  // The next execution compares the calls with the limit again.
  await pester(frugal.thread);
  await frugal.thread.resume();
  const events = await story(frugal.thread);
  expect(ofType(events, 'agent.tool.execution.completed')[0]?.data.status).toBe('success');
});

test('an approved call is not approved again when it runs with an answer', async () => {
  const { thread, told } = await begin('asked__book');
  expect(await asks(thread)).toMatchObject({ kind: 'approval' });
  await thread.approve('call_1');
  await until(
    () => thread.pending(),
    ([call]) => call?.kind === 'tool-question',
  );
  await thread.answerQuestion('call_1', { content: { seats: 7 } });
  const events = await story(thread);
  expect(ofType(events, 'agent.approval.requested')).toHaveLength(1);
  expect(told()[0]).toContain('"seats":7');
});

test('a question of a once call is declined, and the model is told', async () => {
  const { thread, told } = await begin('stdio__pay');
  const events = await story(thread);
  expect(ofType(events, 'agent.tool.question.asked')).toEqual([]);
  expect(told()[0]).toContain("was declined, because this call can't wait for a person");
});

test('other calls of the answer go on while one asks', async () => {
  const input = scene([
    callTools([
      { name: 'stdio__book', args: {}, id: 'call_1' },
      { name: 'stdio__capable', args: {}, id: 'call_2' },
      { name: 'stdio__who', args: { name: 'ann' }, id: 'call_3' },
    ]),
    say('Done.'),
  ]);
  const thread = await rig.client.start('clerk', input);
  const { pending } = await reaches(thread, 'requires_action', 2);
  expect(pending.map(({ question }) => question?.message)).toEqual(['How many seats, and where?', 'Is it ann?']);
  expect(ofType(await logOf(thread), 'agent.tool.execution.completed').map(({ data }) => data.toolCallId)).toEqual(['call_2']);
  await thread.answerQuestion('call_3', { content: { yes: true } });
  await thread.answerQuestion('call_1', { action: 'cancel' });
  expect((await story(thread)).at(-1)?.type).toBe('thread.run.completed');
});
