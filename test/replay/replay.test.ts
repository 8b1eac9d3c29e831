import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { workflowBundlePath } from '../support/temporal';
import { fromFile } from './history-file';
import { representativeRuns } from './representative-runs';

const folder = join(__dirname, 'histories');
const recorded = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith('.json')) : [];
const historyOf = (file: string) => fromFile(readFileSync(join(folder, file), 'utf8'));

beforeAll(() => Runtime.install({ logger: new DefaultLogger('ERROR') }));

/** What each replay came to: nothing, or why the code of today would not do what the history says. */
async function replay(histories: { workflowId: string; history: unknown }[]): Promise<Map<string, string | undefined>> {
  const payloadConverterPath = join(__dirname, '../../src/workflows/payload-converter.ts');
  const results = Worker.runReplayHistories(
    {
      workflowBundle: { codePath: workflowBundlePath() },
      ...(existsSync(payloadConverterPath) && { dataConverter: { payloadConverterPath } }),
    },
    histories,
  );
  const outcomes = new Map<string, string | undefined>();
  for await (const { workflowId, error } of results) outcomes.set(workflowId, error?.message);
  return outcomes;
}

test('threads that began with earlier code go on with the code of today: every recorded history replays', async () => {
  const outcomes = await replay(recorded.map((file) => ({ workflowId: file, history: historyOf(file) })));
  expect([...outcomes.keys()].sort()).toEqual([...recorded].sort());
  expect(Object.fromEntries([...outcomes].filter(([, error]) => error !== undefined))).toEqual({});
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
  expect([...(await replay([{ workflowId: 'changed', history }])).values()]).toEqual([expect.stringMatching(/nondeterminism|TMPRL1100/i)]);
});
