import type { WorkflowHandle } from '@temporalio/client';
import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { readLog } from '../../src/client/log-pages';
import { replayFirst } from '../../src/contract/replay-first';
import { type History, replayHistories } from '../../src/testing';
import { byTurn, callTools, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { workflowBundlePath } from '../support/temporal';
import { story } from './scenes';

const asked = defineTool({ name: 'asked', description: 'Asks.', input: z.object({}), approval: 'always', execute: () => 'done' });
const script = byTurn([callTools([{ name: 'asked', args: {}, id: 'call_1' }]), say('done')]);

/** Threads that rest for an approval, without a worker. Of so many the server hands some out in the one order and some in the other. */
async function resting(name: string, mode: 'one-shot' | 'conversation' = 'one-shot') {
  const agent = defineAgent({ name, model: 'test-model', instructions: 'Work.', tools: [asked] });
  const rig = await startRig({ script, agents: [agent] });
  const threads = await Promise.all(Array.from({ length: 12 }, () => rig.client.start(name, 'Go.', { mode })));
  await Promise.all(
    threads.map((thread) =>
      until(
        () => thread.pending(),
        (pending) => pending.length === 1,
      ),
    ),
  );
  await rig.workers[0]?.stop();
  const handles = threads.map(({ id }) => rig.client.temporal.workflow.getHandle(id));
  return { rig, threads, handles };
}

/** Queries that are on their way before there is anything to tell; nothing shows that from outside. */
async function askEarly(handles: WorkflowHandle[]) {
  const early = handles.map((handle) => handle.query<{ events: object[] }>('events').catch((error: Error) => error.message));
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  return early;
}

test('a query that reaches a worker before the newest events shows none of them: events that it shows stay in the log', async () => {
  const { rig, threads, handles } = await resting('early');
  const early = await askEarly(handles);
  await Promise.all(handles.map((handle) => handle.signal('approve', { toolCallId: 'call_1', by: 'ann' })));
  const history = await handles[0]?.fetchHistory();
  await rig.addWorker();

  const answers = await Promise.all(early);
  for (const [i, thread] of threads.entries()) {
    await thread.result();
    const answer = answers[i];
    const log = await story(thread);
    if (typeof answer === 'string') expect(answer).toContain(replayFirst);
    else expect(answer?.events).toEqual(log.slice(0, answer?.events.length));
  }

  // A history that ends with what no task has taken in replays like any other.
  const recorded = { workflowId: threads[0]?.id ?? '', history: history as History };
  const { replayed, diverged } = await replayHistories([recorded], { workflowBundle: { codePath: workflowBundlePath() } });
  expect({ replayed, diverged }).toEqual({ replayed: 1, diverged: [] });
});

test('events of a task that another worker began and lost are never shown: the log has the times of the recorded task', async () => {
  const { rig, threads, handles } = await resting('lost');
  const early = await askEarly(handles);
  await Promise.all(handles.map((handle) => handle.signal('pause', { reason: 'wait', by: 'ann' })));
  await takeAndLose(rig, threads.length);
  await rig.addWorker();
  await Promise.all(early);
  await until(
    () => Promise.all(handles.map((handle) => handle.describe())),
    (all) => all.every(({ raw }) => !raw.pendingWorkflowTask),
  );
  const logs = () => Promise.all(threads.map(async ({ id }) => (await readLog(rig.client.temporal, id)).events));
  const told = await logs();
  await rig.workers[1]?.stop();
  await rig.addWorker();
  expect(await logs()).toEqual(told);
});

/** Takes workflow tasks as a worker would that is killed while it works on them. Queries that come to it are lost as well. */
async function takeAndLose({ client, taskQueue }: Rig, tasks: number): Promise<void> {
  const { connection, workflowService } = client.temporal;
  const { namespace } = client.temporal.options;
  for (let taken = 0; taken < tasks; ) {
    const request = { namespace, taskQueue: { name: taskQueue }, identity: 'lost' };
    const task = await connection.withDeadline(Date.now() + 20_000, () => workflowService.pollWorkflowTaskQueue(request));
    if (task.taskToken?.length && !task.query) taken++;
  }
}
