import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { replayHistories } from '../../src/testing';
import { workflowBundlePath } from '../support/temporal';
import { fromFile } from './history-file';
import { representativeRuns } from './representative-runs';

const folder = join(__dirname, 'histories');
const recorded = readdirSync(folder).filter((file) => file.endsWith('.json'));
const historyOf = (file: string) => fromFile(readFileSync(join(folder, file), 'utf8'));

const replay = (histories: { workflowId: string; history: any }[]) =>
  replayHistories(histories, { workflowBundle: { codePath: workflowBundlePath() } });

test('threads that began with earlier code go on with the code of today: every recorded history replays', async () => {
  const report = await replay(recorded.map((file) => ({ workflowId: file, history: historyOf(file) })));
  expect(report).toEqual({ replayed: recorded.length, skipped: [], diverged: [] });
}, 60_000);

test('each representative run is recorded', () => {
  const names = new Set(recorded.map((file) => file.replace(/(-\d+)?\.json$/, '')));
  expect([...names].sort()).toEqual(Object.keys(representativeRuns).sort());
});

test('a history that the code would not have made is told from one that it would', async () => {
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
