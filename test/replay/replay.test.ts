import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCarried } from '../../src/core/carried';
import { newThread, stateFormat } from '../../src/core/state';
import { replayHistories } from '../../src/testing';
import { workflowBundlePath } from '../support/temporal';
import { fromFile, nameOf } from './history-file';
import { representativeRuns } from './representative-runs';

const folder = join(__dirname, 'histories');
const recorded = readdirSync(folder).filter((file) => file.endsWith('.json'));
const historyOf = (file: string) => fromFile(readFileSync(join(folder, file), 'utf8'));

const replay = (histories: { workflowId: string; history: any }[]) =>
  replayHistories(histories, { workflowBundle: { codePath: workflowBundlePath() } });

test('threads that began with earlier code continue with the current code: every recorded history replays', async () => {
  const report = await replay(recorded.map((file) => ({ workflowId: file, history: historyOf(file) })));
  expect(report).toEqual({ replayed: recorded.length, skipped: [], diverged: [] });
});

test('each representative run is recorded', () => {
  const names = new Set(recorded.map(nameOf));
  expect([...names].sort()).toEqual(Object.keys(representativeRuns).sort());
});

test('a history that the code would not have written differs from one that it would', async () => {
  const history = historyOf('tools.json');
  const scheduled = history.events.filter(
    (event: { activityTaskScheduledEventAttributes?: object }) => event.activityTaskScheduledEventAttributes,
  );
  scheduled.at(-1).activityTaskScheduledEventAttributes.activityType.name = 'somethingElse';
  expect(await replay([{ workflowId: 'changed', history }])).toMatchObject({
    replayed: 0,
    diverged: [{ threadId: 'changed', error: expect.stringMatching(/nondeterminism|TMPRL1100/i) }],
  });
});

test('carried-over states of each format are read, and converted to the current format', () => {
  const carried = recorded.flatMap((file) => {
    const [, state] = historyOf(file).events[0].workflowExecutionStartedEventAttributes.input.payloads;
    return state ? [JSON.parse(Buffer.from(state.data).toString())] : [];
  });
  const formats = carried.map(({ format }) => format);
  expect(new Set(formats)).toEqual(new Set(Array.from({ length: stateFormat }, (_, i) => i + 1)));
  const fields = Object.keys(newThread({ threadId: 't', agent: 'a', mode: 'one-shot', overrides: {}, queue: [] }));
  for (const state of carried.map(readCarried)) {
    expect(state.format).toBe(stateFormat);
    expect(Object.keys(state)).toEqual(expect.arrayContaining(fields));
  }
});
