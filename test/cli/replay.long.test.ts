import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent } from '../../src/agents';
import { historyToJson, say } from '../../src/testing';
import { type Rig, startRig } from '../support/rig';
import { startServer } from '../support/temporal';
import { expectOneLine, longhaul } from './command';

const agent = defineAgent({ name: 'replayed', model: 'test-model', instructions: 'Talk.', tools: [] });
const folder = mkdtempSync(join(tmpdir(), 'longhaul-replay-'));
const kept = join(folder, '.longhaul/diverged');

let rig: Rig;
beforeAll(async () => {
  const { address } = await startServer();
  rig = await startRig({ script: () => say('hello'), agents: [agent], address });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const replay = (args: string[], env: Record<string, string> = {}) =>
  longhaul(['replay', ...args], { cwd: folder, env: { TEMPORAL_ADDRESS: rig.address, ...env } });

/** A history of its own thread, as a file. `edit` makes it another. */
async function historyFile(name: string, edit: (json: string) => string = (json) => json): Promise<string> {
  const thread = await rig.client.start(agent, 'Hello?');
  await thread.result();
  const file = join(folder, name);
  writeFileSync(file, edit(historyToJson(await rig.client.temporal.workflow.getHandle(thread.id).fetchHistory())));
  return file;
}

test('the threads of a namespace are replayed, all or those that a query finds; if there is none, nothing was checked, and the exit code is 3', async () => {
  expect(await replay([])).toMatchObject({ code: 3, stdout: 'No thread was found, so nothing was checked.\n' });
  await historyFile('one.json');
  await historyFile('two.json');
  expect(await replay([])).toMatchObject({ code: 0, stdout: '2 histories replayed, none diverged\n' });
  expect(await replay(['--limit', '1'])).toMatchObject({ code: 0, stdout: '1 history replayed, none diverged\n' });
  expect(await replay(['--query', "ExecutionStatus = 'Running'"])).toMatchObject({ code: 3, stdout: expect.stringContaining('No thread') });
  expect(existsSync(kept)).toBe(false);
});

test('a history that this code would not have written is named with its error and kept, and the exit code is 1', async () => {
  const fits = await historyFile('fits.json');
  const diverges = await historyFile('diverges.json', (json) => json.replaceAll('"callModel"', '"askOracle"'));
  const { code, stdout } = await replay([fits, diverges]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^diverged thread thread_\S+, execution \S+\n {4}.*TMPRL1100.*askOracle/);
  expect(stdout).toMatch(/2 histories replayed, 1 diverged: workers with this code could not continue it\n$/);
  const [file] = readdirSync(kept);
  expect(stdout).toContain(`kept in ${join('.longhaul/diverged', file ?? '')}`);
  expect(await replay([join(kept, file ?? '')])).toMatchObject({ code: 1 });
});

test('a history of another workflow, an invalid file and a missing file are reported, and the exit code is 2', async () => {
  const other = await historyFile('other.json', (json) => json.replaceAll('"agentThread"', '"invoicing"'));
  writeFileSync(join(folder, 'notes.json'), '{"hello":1}');
  const { code, stdout } = await replay([other, 'notes.json', 'nowhere.json']);
  expect(code).toBe(2);
  expect(stdout).toContain('it is of workflow type "invoicing", not of "agentThread"');
  expect(stdout).toContain("notes.json is not a workflow's history: it has no events");
  expect(stdout).toContain("The history file nowhere.json can't be read");
  expect(stdout).toContain('0 histories replayed');
});

test('an invalid query, one combined with files, and an unreachable server are errors in one line', async () => {
  const query = await replay(['--query', 'nonsense =']);
  expectOneLine(query, /^error: replay: the server did not understand the filter/);
  expect(query.code).toBe(2);
  const beyond = await replay(['--query', 'a = 1) OR (b = 2']);
  expectOneLine(beyond, /^error: replay: the filter has a "\)" at its character 6 that closes no "\("/);
  expect(beyond.code).toBe(2);
  const both = await replay(['--query', "ExecutionStatus = 'Running'", 'one.json']);
  expectOneLine(both, /--query and --limit select histories of a namespace/);
  expect(both.code).toBe(2);
  const away = await replay([], { TEMPORAL_ADDRESS: '127.0.0.1:1' });
  expectOneLine(away, /^error: Temporal can't be reached at 127.0.0.1:1/);
  expect(away.code).toBe(1);
});
