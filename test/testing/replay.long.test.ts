import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import {
  callTools,
  type History,
  historyFromJson,
  historyToJson,
  readHistoryFile,
  replayHistories,
  replayThreads,
  type ScriptRequest,
  say,
} from '../../src/testing';
import { defineTool } from '../../src/tools';
import { type Rig, startRig } from '../support/rig';
import { workflowBundlePath } from '../support/temporal';

const look = defineTool({ name: 'look', description: 'Looks.', input: z.object({}), effect: 'pure', execute: () => 'nothing there' });
const agent = defineAgent({ name: 'replayed', model: 'test-model', instructions: 'Look.', tools: [look] });
const workflowBundle = { codePath: workflowBundlePath() };
const keep = mkdtempSync(join(tmpdir(), 'longhaul-replay-'));

let rig: Rig;
beforeAll(async () => {
  const worker = { continueAsNewAfter: { events: 40, bytes: 4_000_000 } };
  const script = ({ input, turn }: ScriptRequest) =>
    turn < (input === 'Look long.' ? 12 : 1) ? callTools([{ name: 'look', args: {} }]) : say('done');
  rig = await startRig({ script, agents: [agent], worker });
});
afterAll(() => rmSync(keep, { recursive: true, force: true }));

async function finished(): Promise<{ id: string; runId: string; history: History }> {
  const thread = await rig.client.start(agent, 'Look around.');
  await thread.result();
  const handle = rig.client.temporal.workflow.getHandle(thread.id);
  const { runId } = await handle.describe();
  return { id: thread.id, runId, history: await handle.fetchHistory() };
}

/** As a thread would have recorded it whose code called the tool by another activity. */
function changed(history: History): History {
  const copy = historyFromJson(historyToJson(history));
  for (const { activityTaskScheduledEventAttributes: scheduled } of copy.events ?? []) {
    if (scheduled?.activityType?.name === 'runTool') scheduled.activityType.name = 'runAnotherTool';
  }
  return copy;
}

test('threads are replayed as Temporal has them, and one that no worker has begun is skipped', async () => {
  const one = await finished();
  const another = await finished();
  const unattended = await rig.client.start(agent, 'Is anybody there?', { taskQueue: `nobody-${randomUUID()}` });
  const ids = [{ workflowId: one.id }, { workflowId: another.id, runId: another.runId }, { workflowId: unattended.id }];
  const { skipped, ...report } = await replayThreads({ client: rig.client, executions: ids, workflowBundle });
  expect(report).toEqual({ replayed: 2, diverged: [] });
  expect(skipped).toEqual([{ threadId: unattended.id, runId: expect.any(String), why: 'no worker has begun it' }]);
  await unattended.client.temporal.workflow.getHandle(unattended.id).terminate();
});

test('a history that diverges is reported with its thread and execution, and kept as a file that diverges again; the others are replayed', async () => {
  const { id, runId, history } = await finished();
  const mixed = [
    { workflowId: 'fits', history },
    { workflowId: id, history: changed(history) },
    { workflowId: 'fits, too', history },
  ];
  const { replayed, diverged } = await replayHistories(mixed, { workflowBundle, keep });
  expect(replayed).toBe(2);
  expect(diverged).toEqual([
    {
      threadId: id,
      runId,
      error: expect.stringMatching(/^\[TMPRL1100\] Nondeterminism error: .*runAnotherTool/),
      historyFile: expect.stringContaining(runId),
    },
  ]);
  const again = await replayHistories([readHistoryFile(diverged[0]?.historyFile ?? '')], { workflowBundle });
  expect(again).toMatchObject({ replayed: 0, diverged: [{ threadId: id, runId }] });
});

test('a history of another workflow, one without its beginning, and one that is no longer retained are skipped with the reason', async () => {
  const { id, runId, history } = await finished();
  const other = historyFromJson(historyToJson(history).replaceAll('"agentThread"', '"invoicing"'));
  const headless = { events: history.events?.slice(1) ?? [] } as History;
  const { skipped, ...rest } = await replayHistories(
    [
      { workflowId: 'other', history: other },
      { workflowId: 'headless', history: headless },
    ],
    { workflowBundle },
  );
  expect(rest).toEqual({ replayed: 0, diverged: [] });
  expect(skipped).toEqual([
    { threadId: 'other', runId, why: 'it is of workflow type "invoicing", not of "agentThread"' },
    { threadId: 'headless', runId: '', why: 'its first event is missing; a history is replayed from its beginning' },
  ]);
  const gone = await replayThreads({ client: rig.client, executions: [{ workflowId: id, runId: randomUUID() }], workflowBundle });
  expect(gone).toMatchObject({ replayed: 0, skipped: [{ threadId: id, why: expect.stringContaining('retains') }], diverged: [] });
});

test('all executions of a thread that continued as new are replayed, whichever was named', async () => {
  const thread = await rig.client.start(agent, 'Look long.');
  const { runId } = await rig.client.temporal.workflow.getHandle(thread.id).describe();
  await thread.result();
  const whole = await replayThreads({ client: rig.client, executions: [{ workflowId: thread.id, runId }], workflowBundle });
  expect(whole).toMatchObject({ skipped: [], diverged: [] });
  expect(whole.replayed).toBeGreaterThan(2);
  const backwards = await replayThreads({ client: rig.client, executions: [{ workflowId: thread.id }], workflowBundle });
  expect(backwards).toEqual(whole);
  expect(await replayThreads({ client: rig.client, executions: [{ workflowId: thread.id }], limit: 2, workflowBundle })).toMatchObject({
    replayed: 2,
  });
});

test('a text that is not a history is an error that says what one is', () => {
  expect(() => historyFromJson('hello')).toThrow("The text is not a workflow's history: it is not JSON");
  expect(() => historyFromJson('{"events":[]}', 'a.json')).toThrow("a.json is not a workflow's history: it has no events");
  const readable = { events: [{ eventId: '1', workflowExecutionStartedEventAttributes: { input: { payloads: ['hello'] } } }] };
  expect(() => historyFromJson(JSON.stringify(readable))).toThrow(/not "human-readable"/);
});
