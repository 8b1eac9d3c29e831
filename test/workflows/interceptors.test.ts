import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { replayFirst } from '../../src/contract/replay-first';
import { byTurn, callTools, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { answersAlone, markedTasks, neverAhead } from '../../src/workflows/interceptors';
import { startRig, until } from '../support/rig';

const conclude = (commands: object[]) => answersAlone.concludeActivation?.({ commands }, (input) => input);
const answer = { respondToQuery: { queryId: 'legacy_query', succeeded: {} } };

test('commands of an interrupted task are not sent with the answer to a query, for which core would end the worker', () => {
  const leftover = { updateResponse: { protocolInstanceId: 'u1', accepted: {} } };
  expect(conclude([leftover, answer])).toEqual({ commands: [answer] });
});

test('the commands of an activation without queries are sent unchanged', () => {
  const commands = [{ scheduleActivity: { seq: 1 } }, { updateResponse: { protocolInstanceId: 'u1', accepted: {} } }];
  expect(conclude(commands)).toEqual({ commands });
});

/** What goes out of a task with these jobs, batch by batch, that came to these commands. */
function taskOf(marked: ReturnType<typeof markedTasks>, batches: object[][], commands: object[]) {
  batches.forEach((jobs, batchIndex) => void marked.activate?.({ activation: { jobs }, batchIndex }, () => undefined));
  return marked.concludeActivation?.({ commands }, (input) => input).commands;
}
const mark = (n: number) => ({ setPatchMarker: { patchId: `longhaul-task-${n}`, deprecated: true } });
const rejected = { updateResponse: { protocolInstanceId: 'u1', rejected: {} } };

test('a task without commands gets a marker in the history, each with its own id', () => {
  const marked = markedTasks();
  expect(taskOf(marked, [[{ resolveActivity: { seq: 1 } }]], [])).toEqual([mark(1)]);
  expect(taskOf(marked, [[{ notifyHasPatch: {} }], [{ signalWorkflow: {} }]], [])).toEqual([mark(2)]);
  // Refused, an update leaves nothing.
  expect(taskOf(marked, [[{ fireTimer: { seq: 1 } }, { doUpdate: {} }]], [rejected])).toEqual([rejected, mark(3)]);
});

test('a task that leaves an event, and an activation that no replay repeats, get no marker', () => {
  const marked = markedTasks();
  const accepted = { updateResponse: { protocolInstanceId: 'u1', accepted: {} } };
  expect(taskOf(marked, [[{ resolveActivity: { seq: 1 } }]], [{ scheduleActivity: {} }])).toEqual([{ scheduleActivity: {} }]);
  expect(taskOf(marked, [[{ doUpdate: {} }]], [accepted])).toEqual([accepted]);
  expect(taskOf(marked, [[{ doUpdate: {} }]], [rejected])).toEqual([rejected]);
  expect(taskOf(marked, [[{ queryWorkflow: {} }]], [answer])).toEqual([answer]);
  expect(taskOf(marked, [[{ updateRandomSeed: {} }]], [])).toEqual([]);
  expect(taskOf(marked, [], [])).toEqual([]);
});

test('no workflow task of a thread ends without an event of its own, because a later replay would merge it with the next', async () => {
  const wait = defineTool({
    name: 'wait',
    description: 'Waits.',
    input: z.object({ ms: z.number() }),
    effect: 'pure',
    execute: ({ ms }) => new Promise((resolve) => setTimeout(() => resolve(ms), ms)),
  });
  const two = defineTool({
    name: 'two',
    description: 'Needs two.',
    input: z.object({}),
    approval: { approvers: 2 },
    execute: () => 'done',
  });
  const turns = [
    callTools([
      { name: 'wait', args: { ms: 1 } },
      { name: 'wait', args: { ms: 900 } },
    ]),
    callTools([{ name: 'two', args: {} }]),
    say('done'),
  ];
  const agent = defineAgent({ name: 'marked', model: 'test-model', instructions: 'Work.', tools: [wait, two] });
  const rig = await startRig({ script: byTurn(turns), agents: [agent] });
  const thread = await rig.client.start('marked', 'Go.');
  const [call] = await until(
    () => thread.pending(),
    (pending) => pending.length === 1,
  );
  const handle = rig.client.temporal.workflow.getHandle(thread.id);
  // Of two votes the first changes nothing that a command tells of.
  await handle.signal('approve', { toolCallId: call?.toolCallId, by: 'ann' });
  await until(
    () => thread.pending(),
    ([pending]) => pending?.votes?.length === 1,
  );
  await thread.approve(call?.toolCallId ?? '', { by: 'bob' });
  await thread.result();
  const { events = [] } = await handle.fetchHistory();
  const empty = events?.filter(
    (event, i) => event.workflowTaskCompletedEventAttributes && events?.[i + 1]?.workflowTaskScheduledEventAttributes,
  );
  expect(empty).toEqual([]);
  expect(events?.filter((event) => event.markerRecordedEventAttributes).length).toBeGreaterThanOrEqual(2);
});

describe('a state that is ahead of its history', () => {
  const job = { resolveActivity: { seq: 1 } };
  const query = { queryWorkflow: { queryId: 'legacy_query' } };
  const activation = (historyLength: number, seconds: number, jobs: object[] = [job], isReplaying = false) => ({
    activation: { historyLength, timestamp: { seconds, nanos: 5 }, jobs, isReplaying } as never,
    batchIndex: 0,
  });
  const applied = (...activations: ReturnType<typeof activation>[]) => {
    const { activate } = neverAhead();
    return activations.map((one) => {
      try {
        activate?.(one, () => undefined);
        return true;
      } catch (error) {
        return (error as Error).message;
      }
    });
  };

  test('answers no query: events after the last workflow task had the clock of the task before', () => {
    expect(applied(activation(3, 100, [job], true), activation(8, 100), activation(8, 100, [query]))).toEqual([true, true, replayFirst]);
  });

  test('accepts no workflow task', () => {
    expect(applied(activation(3, 100), activation(8, 100), activation(9, 101))).toEqual([true, true, replayFirst]);
  });

  test('is not detected in consecutive tasks, in several activations of one task, or in queries', () => {
    const activations = [
      activation(3, 100),
      activation(3, 100),
      activation(3, 100, [query]),
      activation(9, 101),
      activation(9, 101, [query]),
    ];
    expect(applied(...activations)).toEqual(activations.map(() => true));
  });

  test('is not detected in a replay, whose clock may have been set back', () => {
    const activations = [activation(3, 100, [job], true), activation(8, 100, [job], true), activation(12, 104)];
    expect(applied(...activations)).toEqual([true, true, true]);
  });
});
