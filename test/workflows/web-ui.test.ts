import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import type { History } from '../../src/testing/history-file';
import { callTools, type ScriptedCall, type ScriptRequest, say } from '../../src/testing/model-server';
import { askHuman, defineTool, suspend } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';

const tool = { input: z.object({}), execute: () => 'done' };
const roll_out = defineTool({ ...tool, name: 'roll_out', description: 'Deploys.', approval: { deadlineMs: 3_600_000 } });
const mail = defineTool({ ...tool, name: 'mail', description: 'Asks.', execute: () => suspend({ result: 'asked', correlationId: 'm-1' }) });
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({ to: z.string() }),
  approval: 'always',
  execute: () => 'paid',
});
const tools = [roll_out, mail, pay, askHuman];
const agent = defineAgent({ name: 'clerk', model: 'test_model', instructions: 'Help.', tools });

/** Takes long to be made harmless, character by character. */
const unseen = '\u00ad'.repeat(380_000);
const wide: Record<string, ScriptedCall[]> = {
  approvals: Array.from({ length: 60 }, (_, i) => ({ name: 'pay', args: { to: i === 0 ? unseen : 'x' } })),
  question: [{ name: 'ask_human', args: { question: `a${unseen}` } }, ...Array.from({ length: 100 }, () => ({ name: 'nobody', args: {} }))],
};

let rig: Rig;
beforeAll(async () => {
  const script = ({ input, turn }: ScriptRequest) =>
    turn === 0 && !input.startsWith('chat') ? callTools(wide[input] ?? [{ name: input.split(' ')[0] ?? '', args: {} }]) : say('Well.');
  rig = await startRig({ script, agents: [agent] });
});

async function restingOn(input: string, status: string): Promise<Thread> {
  const thread = await rig.client.start(agent, input, { mode: 'conversation' });
  await until(
    () => thread.status(),
    (now) => now.status === status,
  );
  return thread;
}

type HistoryEvent = NonNullable<History['events']>[number];

async function historyOf({ id }: Thread): Promise<HistoryEvent[]> {
  const { events } = await rig.client.temporal.workflow.getHandle(id).fetchHistory();
  return events ?? [];
}

/** The data that the Web UI shows for a thread in addition to its history. */
async function pageOf({ id }: Thread): Promise<string> {
  const { currentDetails } = await rig.client.temporal.workflow
    .getHandle(id)
    .query<{ currentDetails: string }>('__temporal_workflow_metadata');
  return currentDetails;
}

const textOf = (payload?: { data?: Uint8Array | null } | null) => payload?.data && JSON.parse(Buffer.from(payload.data).toString());
const summaries = (events: HistoryEvent[]) => events.flatMap(({ userMetadata }) => textOf(userMetadata?.summary) ?? []);

test('a thread has a summary, and its complete task, however short it is', async () => {
  const thread = await rig.client.start(agent, 'chat about a_file.md', { taskQueue: `nobody-${rig.taskQueue}` });
  const { raw } = await rig.client.temporal.workflow.getHandle(thread.id).describe();
  const { summary, details } = raw.executionConfig?.userMetadata ?? {};
  expect(textOf(summary)).toBe('clerk: chat about a\\_file.md');
  expect(textOf(details)).toBe('```\nchat about a_file.md\n```');
  await rig.client.temporal.workflow.getHandle(thread.id).terminate();
});

test('the history of a waiting thread shows what it waits for: by the timer of the deadline, and by its search attributes', async () => {
  const thread = await restingOn('roll_out', 'requires_action');
  const events = await until(
    () => historyOf(thread),
    (all) => all.some(({ timerStartedEventAttributes }) => timerStartedEventAttributes),
  );
  expect(summaries(events)).toEqual(['clerk: roll\\_out', '`turn 1 · test_model`', '`roll_out waits for an approval`']);
  const attributes = events.flatMap(({ upsertWorkflowSearchAttributesEventAttributes: set }) => set?.searchAttributes?.indexedFields ?? []);
  const { AgentStatus, AgentPendingTool } = attributes.at(-1) as Record<string, { data: Uint8Array }>;
  expect(textOf(AgentStatus)).toBe('requires_action');
  expect(textOf(AgentPendingTool)).toBe('roll_out');
  await thread.destroy();
});

test.each([
  ['mail', 'suspended', 'waits for a reply'],
  ['chat', 'idle', 'waits for the next message'],
])('the timer of "%s" shows what it waits for', async (input, status, words) => {
  const thread = await restingOn(input, status);
  await until(
    () => historyOf(thread),
    (events) => summaries(events).at(-1) === words,
  );
  await thread.destroy();
});

test('the page of a thread shows its state at the time of the query', async () => {
  const thread = await restingOn('roll_out', 'requires_action');
  const [call] = await thread.pending();
  expect(await pageOf(thread)).toMatch(/^\*\*Waiting for a person\*\*.*\n\n`roll_out` waits for an \*\*approval\*\*/);
  await thread.approve(call?.toolCallId ?? '', { expect: call?.digest ?? '' });
  await until(
    () => thread.status(),
    ({ status }) => status === 'idle',
  );
  expect(await pageOf(thread)).toMatch(/^\*\*Waiting for the next message\*\*/);
  await thread.destroy();
});

test.each([
  ['approvals', 60],
  ['question', 1],
])(
  'a call with hundreds of thousands of characters that are not seen holds nothing up, however many stand beside it (%s)',
  async (input, count) => {
    const thread = await restingOn(input, 'requires_action');
    expect(await thread.pending()).toHaveLength(count);
    expect(await pageOf(thread)).toContain('<U+00AD><U+00AD>');
    const failed = (await historyOf(thread)).filter(
      (event) => event.workflowTaskFailedEventAttributes ?? event.workflowTaskTimedOutEventAttributes,
    );
    expect(failed).toEqual([]);
    await thread.destroy();
  },
);
