import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import type { History } from '../../src/testing/history-file';
import { callTools, type ScriptRequest, say } from '../../src/testing/model-server';
import { defineTool, suspend } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';

const tool = { input: z.object({}), execute: () => 'done' };
const roll_out = defineTool({ ...tool, name: 'roll_out', description: 'Deploys.', approval: { deadlineMs: 3_600_000 } });
const mail = defineTool({ ...tool, name: 'mail', description: 'Asks.', execute: () => suspend({ result: 'asked', correlationId: 'm-1' }) });
const agent = defineAgent({ name: 'clerk', model: 'test_model', instructions: 'Help.', tools: [roll_out, mail] });

let rig: Rig;
beforeAll(async () => {
  const script = ({ input, turn }: ScriptRequest) =>
    turn === 0 && !input.startsWith('chat') ? callTools([{ name: input.split(' ')[0] ?? '', args: {} }]) : say('Well.');
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

const textOf = (payload?: { data?: Uint8Array | null } | null) => payload?.data && JSON.parse(Buffer.from(payload.data).toString());
const summaries = (events: HistoryEvent[]) => events.flatMap(({ userMetadata }) => textOf(userMetadata?.summary) ?? []);

test('a thread has a summary, and its task as it was given, however short it is', async () => {
  const thread = await rig.client.start(agent, 'chat about a_file.md', { taskQueue: `nobody-${rig.taskQueue}` });
  const { raw } = await rig.client.temporal.workflow.getHandle(thread.id).describe();
  const { summary, details } = raw.executionConfig?.userMetadata ?? {};
  expect(textOf(summary)).toBe('clerk: chat about a\\_file.md');
  expect(textOf(details)).toBe('```\nchat about a_file.md\n```');
  await rig.client.temporal.workflow.getHandle(thread.id).terminate();
});

test('the history of a thread that waits says for what: by the timer of the deadline, and by its search attributes', async () => {
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
])('the timer of "%s" says what is waited for', async (input, status, words) => {
  const thread = await restingOn(input, status);
  await until(
    () => historyOf(thread),
    (events) => summaries(events).at(-1) === words,
  );
  await thread.destroy();
});
