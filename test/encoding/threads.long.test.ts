import type { ProtoFailure } from '@temporalio/common';
import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { LonghaulClient, type Thread } from '../../src/client';
import type { EncodingOptions } from '../../src/encoding/encoding';
import { keyIdOf } from '../../src/encoding/key-provider';
import { replayThreads } from '../../src/testing';
import { callTools, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { collect, type Rig, startRig, until } from '../support/rig';
import { workflowBundlePath } from '../support/temporal';
import { handleOf, reaches } from '../workflows/asking';
import { scenes, thrownBy } from '../workflows/scenes';
import { keys, newKey } from './keys';

const { script, scene } = scenes();
const paid: string[] = [];
const tools = [
  defineTool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({}),
    approval: 'always',
    execute(_, { threadId }) {
      paid.push(threadId);
      return 'paid';
    },
  }),
];
const agent = defineAgent({ name: 'payer', model: 'test-model', instructions: 'Pay.', tools });
const paysThenSays = (...texts: string[]) => scene([callTools([{ id: 'call_pay', name: 'pay', args: {} }]), ...texts.map(say)]);

const [first, second] = [newKey(), newKey()];
const idOfSecond = keyIdOf(Buffer.from(second, 'base64'));
const plain: EncodingOptions = {};
const withFirst: EncodingOptions = { keys: keys(first) };
const rotated: EncodingOptions = { keys: keys(second, first) };
const withSecond: EncodingOptions = { keys: keys(second) };

let rig: Rig;
beforeAll(async () => {
  rig = await startRig({ script, agents: [agent], workers: 0, worker: { transcriptCacheSize: 0 }, client: { encoding: rotated } });
});
afterEach(() => Promise.all(rig.workers.splice(0).map((running) => running.stop())));

async function withClient<T>(encoding: EncodingOptions, work: (client: LonghaulClient) => Promise<T>): Promise<T> {
  const options = { connection: { address: rig.address }, taskQueue: rig.taskQueue, requestTimeoutMs: 3_000, encoding };
  const client = await LonghaulClient.connect(options);
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

test('an encrypted conversation is reopened', async () => {
  await rig.addWorker({ encoding: withFirst });
  await withClient(withFirst, async (client) => {
    const input = scene(({ messages }) => say(`${messages.length}`));
    const thread = await client.start('payer', input, { mode: 'conversation' });
    await thread.result();
    await thread.close();
    await until(
      () => handleOf(thread).describe(),
      ({ status }) => status.name !== 'RUNNING',
    );
    expect((await client.reopen(thread.id)).id).toBe(thread.id);
    await thread.send('Again');
    // Until the run has ended: the worker would otherwise be stopped in the middle of it.
    await until(
      async () => ({ ...(await thread.usage()), ...(await thread.status()) }),
      ({ runs, status }) => runs === 2 && status === 'idle',
    );
  });
});

/** How the payloads of a thread are encoded, with the ids of their keys. */
async function encodingsOf(thread: Thread): Promise<Set<string>> {
  const { events } = await handleOf(thread).fetchHistory();
  const found = new Set<string>();
  const look = (at: unknown): void => {
    if (typeof at !== 'object' || at === null || at instanceof Uint8Array) return;
    const { encoding, 'encryption-key-id': id } = (at as { metadata?: Record<string, Uint8Array> }).metadata ?? {};
    if (encoding) found.add([encoding, ...(id ? [id] : [])].map((bytes) => Buffer.from(bytes).toString()).join(' '));
    Object.values(at).forEach(look);
  };
  look(events);
  return found;
}

async function isFailingWorkflowTasks(thread: Thread): Promise<boolean> {
  const { raw } = await handleOf(thread).describe();
  return (raw.pendingWorkflowTask?.attempt ?? 1) > 1;
}

test('a thread continues when encryption is switched on, and when the key is replaced, and its history is replayed with both keys', async () => {
  const plainWorker = await rig.addWorker({ encoding: plain });
  const { id } = await withClient(plain, async (client) => {
    const thread = await client.start('payer', paysThenSays('first answer', 'second answer'), { mode: 'conversation' });
    await reaches(thread, 'requires_action');
    return thread;
  });
  await plainWorker.stop();
  const firstWorker = await rig.addWorker({ encoding: withFirst });
  await withClient(withFirst, async (client) => {
    const thread = client.attach(id);
    await thread.approve('call_pay');
    expect(await thread.result()).toMatchObject({ output: 'first answer' });
  });
  await firstWorker.stop();
  await rig.addWorker({ encoding: rotated });
  const thread = rig.client.attach(id);
  await thread.send('go on', { delivery: 'after-run' });
  const messages = await until(
    () => thread.messages(),
    (all) => all.length === 6,
  );
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user', 'assistant']);
  expect(JSON.stringify(messages)).toMatch(/paid.*first answer.*go on.*second answer/);
  await thread.close();
  const encrypted = [first, second].map((key) => `binary/encrypted ${keyIdOf(Buffer.from(key, 'base64'))}`);
  expect(await encodingsOf(thread)).toEqual(new Set(['json/plain', ...encrypted]));
  const replay = (encoding: EncodingOptions) =>
    replayThreads({ client: rig.client, executions: [{ workflowId: id }], workflowBundle: { codePath: workflowBundlePath() }, encoding });
  expect(await replay(rotated)).toMatchObject({ replayed: 1, skipped: [], diverged: [] });
  expect(await replay(withSecond)).toMatchObject({ replayed: 0, skipped: [{ threadId: id, why: /is encrypted with key/ }], diverged: [] });
});

test('a thread whose worker does not have the key waits, says why, and loses nothing', async () => {
  const keyless = await rig.addWorker({ encoding: plain });
  const thread = await rig.client.start('payer', paysThenSays('paid'));
  await until(() => isFailingWorkflowTasks(thread), Boolean);
  const error = (await thrownBy(collect(thread.events()))) as Error;
  expect(error).toMatchObject({
    code: 'no-worker',
    message: expect.stringContaining(
      `the workers of thread "${thread.id}" do not have the encryption key "${idOfSecond}", which something`,
    ),
  });
  // Its own words speak of the process that lacks the key, which is not this one.
  expect(error.message).not.toContain('this process');
  await withClient(rotated, async (client) => {
    const words = expect.stringContaining(`do not have the encryption key "${idOfSecond}"`);
    for (const request of [() => client.attach(thread.id).status(), () => client.attach(thread.id).send('hello')]) {
      expect(await thrownBy(request())).toMatchObject({ message: words });
    }
  });
  await keyless.stop();
  await rig.addWorker({ encoding: rotated });
  await until(
    () => isFailingWorkflowTasks(thread),
    (fails) => !fails,
  );
  await reaches(thread, 'requires_action');
  await thread.approve('call_pay');
  expect(await thread.result()).toMatchObject({ status: 'completed', output: 'paid' });
});

test('a call that must not run twice is given to a worker with the key, if one without it took it first', async () => {
  const full = await rig.addWorker({ encoding: rotated });
  const thread = await rig.client.start('payer', paysThenSays('paid once'));
  await reaches(thread, 'requires_action');
  await full.stop();
  await rig.addWorker({ encoding: rotated, temporal: { enableNonLocalActivities: false } });
  const keyless = await rig.addWorker({ encoding: withFirst });
  await thread.approve('call_pay');
  await until(
    () => handleOf(thread).fetchHistory(),
    ({ events }) => (events ?? []).some((event) => lacksKey(event.activityTaskFailedEventAttributes?.failure)),
  );
  await keyless.stop();
  await rig.addWorker({ encoding: rotated });
  expect(await thread.result()).toMatchObject({ status: 'completed', output: 'paid once' });
  expect(paid.filter((threadId) => threadId === thread.id)).toHaveLength(1);
});

const lacksKey = (failure: ProtoFailure | null | undefined) => failure?.applicationFailureInfo?.type === 'EncryptionKeyUnavailable';

test('a client without the key gets an error with a code, and lists threads all the same', async () => {
  await rig.addWorker({ encoding: rotated });
  const input = paysThenSays('paid');
  const thread = await rig.client.start('payer', input);
  await reaches(thread, 'requires_action');
  await withClient(plain, async (client) => {
    const same = client.attach(thread.id);
    const missing = { code: 'encryption-key-missing', message: expect.stringMatching(/is encrypted with key "\w+"/) };
    for (const request of [() => same.status(), () => same.messages(), () => collect(same.events()), () => same.result()]) {
      expect(await thrownBy(request())).toMatchObject(missing);
    }
    expect(await thrownBy(client.start('payer', input, { id: thread.id }))).toMatchObject(missing);
    const listed = await until(
      () => client.list({ limit: 1_000 }),
      (all) => all.some(({ id, status }) => id === thread.id && status === 'requires_action'),
    );
    expect(listed.find(({ id }) => id === thread.id)).toMatchObject({ agent: 'payer', pendingTool: 'pay' });
    const inbox = await client.pending({ agent: 'payer', limit: 1_000 });
    const item = inbox.find(({ threadId }) => threadId === thread.id);
    expect(item).toMatchObject({ agent: 'payer', note: expect.stringContaining('is encrypted with key') });
    expect(item).not.toHaveProperty('call');
  });
  await thread.reject('call_pay', { stop: true });
});

test('a request of a client with a key that no worker has waits for that key, and is then carried out', async () => {
  const before = await rig.addWorker({ encoding: withFirst });
  const { id } = await withClient(withFirst, async (client) => {
    const started = await client.start('payer', paysThenSays('paid'));
    await reaches(started, 'requires_action');
    return started;
  });
  const thread = rig.client.attach(id);
  await handleOf(thread).signal('approve', { toolCallId: 'call_pay', approved: true });
  await until(() => isFailingWorkflowTasks(thread), Boolean);
  await rig.addWorker({ encoding: rotated });
  // While it runs, it may take each attempt of the workflow task, and the server waits longer after each.
  await before.stop();
  expect(await thread.result()).toMatchObject({ status: 'completed', output: 'paid' });
});

test('a worker without a key to encrypt with does not start', async () => {
  const lost = { keys: { current: () => Promise.reject(new Error('the service is away')), byId: async () => undefined } };
  await expect(rig.addWorker({ encoding: lost })).rejects.toThrow(
    "Payloads can't be encrypted, because no key is available: the service is away",
  );
});
