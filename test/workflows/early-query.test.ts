import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { replayFirst } from '../../src/contract/replay-first';
import { type History, replayHistories } from '../../src/testing';
import { byTurn, callTools, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { startRig, until } from '../support/rig';
import { workflowBundlePath } from '../support/temporal';
import { story } from './scenes';

test('a query that reaches a worker before what has just come tells nothing of it: what it tells stands in the log for ever', async () => {
  const asked = defineTool({ name: 'asked', description: 'Asks.', input: z.object({}), approval: 'always', execute: () => 'done' });
  const agent = defineAgent({ name: 'early', model: 'test-model', instructions: 'Work.', tools: [asked] });
  const script = byTurn([callTools([{ name: 'asked', args: {}, id: 'call_1' }]), say('done')]);
  const rig = await startRig({ script, agents: [agent] });
  // Which of the two a worker takes first is up to the server: of so many threads it is the query for some.
  const threads = await Promise.all(Array.from({ length: 12 }, () => rig.client.start('early', 'Go.')));
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
  const early = handles.map((handle) => handle.query<{ events: object[] }>('events').catch((error: Error) => error.message));
  // On their way before there is anything to tell; nothing shows that from outside.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
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
}, 60_000);
