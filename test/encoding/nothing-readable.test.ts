import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { folderArtifacts } from '../../src/artifacts';
import type { Thread } from '../../src/client';
import type { EncodingOptions } from '../../src/encoding/encoding';
import { defineHooks } from '../../src/hooks';
import { byTurn, callTools, fail, type ScriptRequest, say, slowly } from '../../src/testing/model-server';
import { createAskHuman, defineTool } from '../../src/tools';
import { collect, type Rig, startRig, until } from '../support/rig';
import { startServer } from '../support/temporal';
import { happened, reaches } from '../workflows/asking';
import { scenes, thrownBy } from '../workflows/scenes';
import { keys, newKey } from './keys';

/** In every text that the threads of this file get from a person, a model or a program. */
const word = 'xyzzy';
const { script, scene } = scenes();
const input = z.object({ text: z.string() });

const tools = [
  defineTool({
    name: 'echo',
    description: 'Echoes.',
    input,
    execute({ text }, { progress }) {
      progress(`progress ${word}`);
      return `${text} result ${word}`;
    },
  }),
  // Long enough to be stored outside of the history.
  defineTool({ name: 'dump', description: 'Dumps.', input, execute: () => `stored ${word} `.repeat(10_000) }),
  defineTool({
    name: 'breaks',
    description: 'Breaks.',
    input,
    effect: 'pure',
    retry: { maxAttempts: 2, initialMs: 20 },
    execute() {
      throw new Error(`tool error ${word}`);
    },
  }),
  defineTool({ name: 'pay', description: 'Pays.', input, approval: 'always', execute: () => `paid ${word}` }),
  createAskHuman(),
];

const hooks = defineHooks({
  'before:llm': () => {
    throw new Error(`hook error ${word}`);
  },
});

const agent = defineAgent({ name: 'writer', model: 'test-model', instructions: `Instructions ${word}.`, tools });
const hooked = defineAgent({ name: 'hooked', model: 'test-model', instructions: `Instructions ${word}.`, tools, hooks });

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A server of its own with one worker and a store, and threads that carry the word wherever a text can be. Returns the folder of their files. */
async function planted(encoding: EncodingOptions): Promise<{ rig: Rig; folder: string; threads: Thread[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'longhaul-encoding-'));
  folders.push(folder);
  const { address } = await startServer({ dbFilename: join(folder, 'temporal.db') });
  const artifacts = folderArtifacts({ path: join(folder, 'outputs') });
  const worker = { encoding, artifacts, liveTextMs: 100, continueAsNewAfter: { events: 60, bytes: 1_000_000 } };
  const rig = await startRig({ script, agents: [agent, hooked], address, worker, client: { encoding, artifacts } });
  const threads = [await everyText(rig), await failedRun(rig), await failedHook(rig), await cancelled(rig)];
  return { rig, folder, threads };
}

async function everyText({ client }: Rig): Promise<Thread> {
  const call = (name: string) => callTools([{ id: `call_${name}`, name, args: { text: `argument ${word}` } }], `text ${word}`);
  const replies = [
    call('echo'),
    call('dump'),
    call('breaks'),
    call('pay'),
    callTools([{ id: 'call_ask', name: 'ask_human', args: { question: `question ${word}` } }]),
    slowly(say(`live text ${word} `.repeat(10)), { chunkMs: 80, chunkSize: 10 }),
    say(`second ${word}`),
  ];
  let failures = 0;
  const answers = byTurn(replies);
  const failingOnce = (request: ScriptRequest) => (failures++ === 0 ? fail(500, { message: `provider error ${word}` }) : answers(request));
  const thread = await client.start('writer', scene(failingOnce, `task ${word}`), { mode: 'conversation' });
  const live = collect(thread.events());
  await reaches(thread, 'requires_action');
  await thread.approve('call_pay', { by: `person ${word}`, reason: `reason ${word}` });
  await until(
    () => thread.pending(),
    (pending) => pending.some(({ toolCallId }) => toolCallId === 'call_ask'),
  );
  const refused = await thrownBy(thread.approve(`wrong ${word}`));
  expect(refused).toMatchObject({ code: 'request-refused', message: expect.stringContaining(word) });
  await thread.answer('call_ask', `answer ${word}`);
  expect((await thread.output('call_dump')).content).toBe(`stored ${word} `.repeat(10_000));
  await thread.send(`message ${word}`, { delivery: 'after-run' });
  const deltas = (await live).flatMap(({ type, data }) => (type === 'thread.message.delta' ? [data as { contentChunk?: string }] : []));
  expect(deltas.some(({ contentChunk }) => contentChunk?.includes(word))).toBe(true);
  await until(
    () => thread.status(),
    ({ status, seq }) => status === 'idle' && seq > 0,
  );
  await thread.close();
  return thread;
}

async function failedRun({ client }: Rig): Promise<Thread> {
  const thread = await client.start('writer', scene([fail(400, { message: `final error ${word}` })], `fails ${word}`));
  await expect(thread.result()).rejects.toMatchObject({ code: 'run-failed', message: expect.stringContaining(`final error ${word}`) });
  return thread;
}

async function failedHook({ client }: Rig): Promise<Thread> {
  const thread = await client.start('hooked', scene([say('done')], `hook ${word}`));
  await thread.result().catch(() => undefined);
  return thread;
}

async function cancelled({ client }: Rig): Promise<Thread> {
  const slow = slowly(say(`slow ${word} `.repeat(100)), { chunkMs: 100, chunkSize: 10 });
  const thread = await client.start('writer', scene([slow], `cancelled ${word}`));
  await happened(thread, 'thread.message.created');
  await thread.cancel({ reason: `cancel ${word}`, by: `person ${word}` });
  await thread.result().catch(() => undefined);
  return thread;
}

/** Which files of the server and of the store contain a text. */
function filesWith(folder: string, text: string): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => join(parentPath, name)).filter((file) => readFileSync(file).includes(text));
}

/** What readers of histories and of the index get, as bytes. */
async function rawHistories({ client }: Rig, threads: Thread[]): Promise<string> {
  const { temporal } = client;
  const found: string[] = [];
  for (const { id } of threads) {
    const handle = temporal.workflow.getHandle(id);
    found.push(bytesIn(await handle.fetchHistory()), bytesIn((await handle.describe()).raw));
  }
  return found.join('\n');
}

function bytesIn(value: unknown): string {
  return JSON.stringify(value, (_, at) => (at?.type === 'Buffer' ? Buffer.from(at.data).toString('latin1') : at));
}

test('with encryption on, no text of a person, a model or a program is readable in histories, in the files of the server or in stored outputs', async () => {
  const { rig, folder, threads } = await planted({ keys: keys(newKey()), compression: false });
  const histories = await rawHistories(rig, threads);
  expect(histories).toContain('Encoded failure');
  expect(histories).not.toContain(word);
  expect(filesWith(folder, 'binary/encrypted')).not.toEqual([]);
  expect(filesWith(folder, word)).toEqual([]);
  // Stack traces.
  expect(histories).not.toContain('nothing-readable.test');
  expect(filesWith(folder, 'nothing-readable.test')).toEqual([]);
});

test('without encryption, the same threads are readable there', async () => {
  const { rig, folder, threads } = await planted({});
  expect(await rawHistories(rig, threads)).toContain(word);
  expect(filesWith(folder, word)).toEqual(
    expect.arrayContaining([expect.stringMatching(/\/temporal\.db/), expect.stringContaining('/outputs/')]),
  );
});
