import { replayFirst } from '../../src/contract/replay-first';
import { accountForEvents } from '../../src/workflows/account-for-events';

interface Task {
  length: number;
  jobs?: object[];
  commands?: object[];
  at?: number;
  isReplaying?: boolean;
}

const step = (seq: number) => ({ scheduleActivity: { seq } });
const done = { resolveActivity: { seq: 1, result: { completed: {} } } };
const signal = { signalWorkflow: {} };
const update = { doUpdate: {} };
const query = { queryWorkflow: { queryId: 'legacy_query' } };
const accepted = { updateResponse: { protocolInstanceId: 'u1', accepted: {} } };
const completed = { updateResponse: { protocolInstanceId: 'u1', completed: {} } };
const rejected = { updateResponse: { protocolInstanceId: 'u1', rejected: {} } };

/** Of each task in turn: whether it was taken, or how it failed. Each has a time of its own, as at a server. */
function taken(...tasks: Task[]) {
  const guard = accountForEvents();
  return tasks.map(({ length, jobs = [], commands = [], at = length, isReplaying = false }) => {
    const activation = { historyLength: length, timestamp: { seconds: at, nanos: 5 }, isReplaying, jobs } as never;
    try {
      guard.activate?.({ activation, batchIndex: 0 }, () => undefined);
      guard.concludeActivation?.({ commands }, (input) => input);
      return true;
    } catch (error) {
      return (error as Error).message;
    }
  });
}

const begun = { length: 3, commands: [step(1)] };

describe('a task is accepted', () => {
  test.each<[string, Task, Task]>([
    ['after a step and its result', begun, { length: 9, jobs: [done] }],
    ['after a step, while a signal comes', begun, { length: 8, jobs: [signal] }],
    [
      'after a step whose worker took it and was cancelled',
      begun,
      { length: 9, jobs: [{ resolveActivity: { result: { cancelled: {} } } }] },
    ],
    ['after a step that nobody took', begun, { length: 8, jobs: [{ resolveActivity: { result: { cancelled: {} } } }] }],
    [
      'after a step that timed out',
      begun,
      { length: 9, jobs: [{ resolveActivity: { result: { failed: { failure: { cause: { timeoutFailureInfo: {} } } } } } }] },
    ],
    ['after a timer', { length: 3, commands: [{ startTimer: { seq: 1 } }] }, { length: 8, jobs: [{ fireTimer: { seq: 1 } }] }],
    [
      'after an update that was carried out at once',
      { length: 7, jobs: [update], commands: [accepted, completed] },
      { length: 12, jobs: [update] },
    ],
    [
      'after an update that failed once it was accepted',
      { length: 7, jobs: [update], commands: [accepted, rejected] },
      { length: 12, jobs: [update] },
    ],
    ['after a mark', { length: 3, commands: [{ setPatchMarker: {} }] }, { length: 8, jobs: [signal] }],
    ['after the first mark of a patch', { length: 3, commands: [{ setPatchMarker: {} }] }, { length: 9, jobs: [signal] }],
    [
      'after a step and a timer that were given up in the task that began them',
      {
        length: 3,
        commands: [step(1), { startTimer: { seq: 1 } }, { requestCancelActivity: { seq: 1 } }, { cancelTimer: { seq: 1 } }, step(2)],
      },
      { length: 8, jobs: [signal] },
    ],
  ])('%s', (_, before, after) => {
    expect(taken(before, after)).toEqual([true, true]);
  });

  test('whose jobs come in several activations, between queries', () => {
    const again = { ...begun, commands: [step(2)] };
    const asked = { length: 3, jobs: [query], commands: [{ respondToQuery: {} }] };
    expect(taken(begun, again, asked, { length: 10, jobs: [done] })).toEqual([true, true, true, true]);
  });

  test('after tasks that rejected updates, for which the server keeps no events or all three', () => {
    const refuses = { length: 7, jobs: [update], commands: [rejected] };
    expect(taken(begun, refuses, { length: 8, jobs: [signal] })).toEqual([true, true, true]);
    expect(taken(begun, refuses, { length: 11, jobs: [signal] })).toEqual([true, true, true]);
  });

  test('in a replay, and after one, whatever its events are', () => {
    const replayed = { ...begun, isReplaying: true };
    expect(taken(replayed, { length: 30, isReplaying: true }, { length: 60 })).toEqual([true, true, true]);
  });
});

describe('a query', () => {
  const asked = (at: number) => ({ length: at, jobs: [query], commands: [{ respondToQuery: {} }], at });

  test('is answered at the time of the previous task, also of one that rejected an update', () => {
    const refuses = { length: 7, jobs: [update], commands: [rejected] };
    expect(taken(begun, { ...asked(9), at: begun.length }, refuses, asked(7))).toEqual([true, true, true, true]);
  });

  test('fails for a replay if the clock has advanced without a task', () => {
    expect(taken(begun, asked(9))).toEqual([true, replayFirst]);
    expect(taken({ ...begun, isReplaying: true }, asked(9))).toEqual([true, true]);
  });
});

describe('a task fails for a replay', () => {
  test.each<[string, Task, Task]>([
    ['when the one before was lost and came again with a signal beside', begun, { length: 7, jobs: [signal] }],
    ['when the one before was lost and came again', begun, { length: 11, jobs: [done] }],
    ['when another worker took one between', begun, { length: 17, jobs: [done] }],
    ['also where the worker replays what others did', begun, { length: 7, jobs: [signal], isReplaying: true }],
  ])('%s', (_, before, after) => {
    expect(taken(before, after)).toEqual([true, replayFirst]);
  });
});
