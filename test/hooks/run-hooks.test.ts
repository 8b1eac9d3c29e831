import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, makeTelemetryFilterString, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { TranscriptCache } from '../../src/activities';
import { runHooks } from '../../src/activities/run-hooks';
import { createAgents, defineAgent } from '../../src/agents';
import type { RunHooksRequest } from '../../src/contract/activities';
import type { HookName } from '../../src/core/hooks';
import type { Message } from '../../src/core/message';
import { hashOf, tokenOf } from '../../src/core/transcript';
import { defineHooks, type HookContext, type HookDefinitions } from '../../src/hooks';
import { inProcessBus } from '../../src/stream/stream-bus';
import type { Dependencies } from '../../src/tools';
import { dataConverter, workflowBundleOptions } from '../../src/workflow-bundle';
import { closeBeforeServers } from '../support/temporal';
import { gate, inputs } from './hook-host';
import type { hookedThread, Scene } from './hooked-thread';

// The activity on a real worker and server, in a workflow that does nothing else.
const taskQueue = `hooks-${randomUUID()}`;
const address = process.env.LONGHAUL_TEST_TEMPORAL ?? '';
let client: Client;
/** The hooks of the test under way, by the agent's name. */
const agents = new Map<string, ReturnType<typeof defineAgent>>();
let dependencies: Dependencies = {};

beforeAll(async () => {
  Runtime.install({
    logger: new DefaultLogger('ERROR'),
    telemetryOptions: { logging: { filter: makeTelemetryFilterString({ core: 'ERROR' }) } },
  });
  const [connection, native] = await Promise.all([Connection.connect({ address }), NativeConnection.connect({ address })]);
  client = new Client({ connection });
  const { webpackConfigHook } = workflowBundleOptions();
  const activity: ReturnType<typeof runHooks> = (request) =>
    runHooks({
      agents: createAgents([...agents.values()]),
      bus: inProcessBus(),
      transcripts: new TranscriptCache(0),
      workspace: '/',
      dependencies,
      takeoverMs: 5_000,
    })(request);
  const worker = await Worker.create({
    connection: native,
    taskQueue,
    workflowsPath: join(__dirname, 'hooked-thread.ts'),
    bundlerOptions: { webpackConfigHook },
    dataConverter: dataConverter({ codecs: [], encrypts: false }),
    activities: { runHooks: activity },
    maxHeartbeatThrottleInterval: '300ms',
  });
  const working = worker.run();
  closeBeforeServers(async () => {
    worker.shutdown();
    await working;
    await Promise.all([connection.close(), native.close()]);
  });
});

const messages: Message[] = Array.from({ length: 7 }, (_, i) => ({ id: `m${i}`, role: 'user', content: `message ${i}` }));
const transcript = { epoch: 0, length: messages.length, hash: hashOf(messages), recent: messages.slice(-2).map(tokenOf) };

async function start<N extends HookName>(name: N, given: HookDefinitions, more: Partial<RunHooksRequest<N>> & Partial<Scene> = {}) {
  const agent = `agent-${randomUUID()}`;
  agents.set(agent, defineAgent({ name: agent, model: 'openai/gpt-5', instructions: 'Work.', hooks: defineHooks(given) }));
  const { before, stale, ...rest } = more;
  const request = { agent, hook: name, input: inputs[name], runId: 'run-1', turn: 3, transcript, ...rest } as RunHooksRequest;
  return client.workflow.start<typeof hookedThread>('hookedThread', {
    taskQueue,
    workflowId: `thread-${agent}`,
    args: [{ request, messages, ...(before && { before }), ...(stale && { stale }) }],
  });
}

async function run<N extends HookName>(...args: Parameters<typeof start<N>>) {
  return (await start<N>(...args)).result();
}

/** What the activity failed with. */
async function failure(running: Promise<unknown>): Promise<{ type: string; message: string; nonRetryable: boolean; details: unknown[] }> {
  const error = (await running.then(
    () => undefined,
    (thrown) => thrown,
  )) as { cause?: { cause?: never } } | undefined;
  if (!error?.cause?.cause) throw new Error(`it did not fail in the activity: ${error}`);
  return error.cause.cause;
}

const broken = () => {
  throw new Error('no database');
};

test('hooks run on the worker, and get their thread, the transcript, and the dependencies of the worker', async () => {
  const made: string[] = [];
  dependencies = {
    db: ({ idempotencyKey, workspace, toolCallId }) => {
      made.push(`${idempotencyKey} ${workspace} ${toolCallId}`);
      return { rows: 3 };
    },
  };
  let seen: HookContext | undefined;
  let read: Message[] = [];
  const hook = async (_: object, ctx: HookContext<'before:tool'>) => {
    seen = ctx as HookContext;
    read = await ctx.messages();
    const [one, same] = await Promise.all([ctx.resolve<{ rows: number }>('db'), ctx.resolve('db')]);
    return { args: { rows: one.rows, same: one === same }, mockResult: false };
  };
  const { answer, reports } = await run('before:tool', { 'before:tool': hook });
  expect(answer).toEqual({ args: { rows: 3, same: true }, mockResult: false });
  expect(reports).toEqual([{ id: 'before:tool#1', durationMs: expect.any(Number), answered: ['args', 'mockResult'] }]);
  expect(read).toEqual(messages);
  expect(seen).toMatchObject({ hook: 'before:tool', runId: 'run-1', turn: 3, threadId: `thread-${seen?.agent}` });
  expect(made).toEqual([`${seen?.threadId}/run-1/3/before:tool/call-1 / call-1`]);
});

test('an unknown dependency is the error of the hook that requested it, and lists those that exist', async () => {
  dependencies = { db: () => 1 };
  const { reports } = await run('pause:check', { 'pause:check': (_, ctx) => ctx.resolve<object>('bd') });
  expect(reports[0]?.error).toBe("Unknown dependency 'bd'. The worker was created with: db.");
});

test.each([
  ['in one execution', 0],
  ['also where the thread continued as new in between', 6],
])('on:event reads the events of its range, each once, %s', async (_, before) => {
  let seen: number[] = [];
  const hook = async (_input: object, ctx: HookContext<'on:event'>) => {
    seen = (await ctx.events()).map(({ seq }) => seq);
  };
  const { reports } = await run('on:event', { 'on:event': hook }, { input: { from: 2, to: 13 }, before });
  expect(reports[0]?.error).toBeUndefined();
  expect(seen).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
});

test('[A125] hooks that failed too often are skipped', async () => {
  const { reports } = await run('pause:check', { 'pause:check': [broken, () => undefined] }, { disabled: ['pause:check#1'] });
  expect(reports.map(({ id }) => id)).toEqual(['pause:check#2']);
});

test('[A126] a hook whose failure ends the run fails the step without a retry, with its name; the others have run, once', async () => {
  const other = jest.fn(() => ({ text: 'kept' }));
  const error = await failure(run('after:llm', { 'after:llm': [{ id: 'guard', run: broken, failure: 'fail' }, other] }));
  expect(error).toMatchObject({ type: 'HookFailed', nonRetryable: true, message: "Hook 'guard' of after:llm failed: no database" });
  expect(error.details).toEqual([
    {
      hook: 'after:llm',
      reports: [
        { id: 'guard', durationMs: expect.any(Number), error: 'no database', mode: 'fail' },
        { id: 'after:llm#2', durationMs: expect.any(Number), answered: ['text'] },
      ],
    },
  ]);
  expect(other).toHaveBeenCalledTimes(1);
});

test('[A126] a hook whose failure warns or is ignored ends nothing, and the report names it', async () => {
  const { answer, reports } = await run('after:llm', {
    'after:llm': [broken, { run: broken, failure: 'ignore' }, () => ({ text: 'kept' })],
  });
  expect(answer).toEqual({ text: 'kept' });
  expect(reports.map(({ error, mode }) => ({ error, mode }))).toEqual([
    { error: 'no database', mode: 'warn' },
    { error: 'no database', mode: 'ignore' },
    {},
  ]);
});

test('[A135][B172] approve:tool refuses the call when a hook throws', async () => {
  const { answer } = await run('approve:tool', { 'approve:tool': [() => ({ approved: true }), broken] });
  expect(answer).toEqual({ approved: false, reason: 'Permission check failed: no database' });
});

test('[A135] approve:tool refuses the call on a worker whose agent no longer has the hook', async () => {
  const { answer, reports } = await run('approve:tool', { 'before:llm': () => undefined });
  expect(answer).toEqual({
    approved: false,
    reason: expect.stringMatching(/^Permission check failed: agent 'agent-.*' of this worker has no/),
  });
  expect(reports).toEqual([]);
  expect(await run('before:tool', {})).toEqual({ answer: {}, reports: [] });
});

test('content with which after:tool replaces a result is shown to the model as a result would be', async () => {
  const answered = async (content: unknown) => {
    const { answer } = await run('after:tool', { 'after:tool': () => ({ content }) });
    return (answer as { content: string }).content;
  };
  expect(await answered({ paid: true })).toBe('{"paid":true}');
  expect(await answered(0)).toBe('0');
  const long = await answered('x'.repeat(200_000));
  expect(Buffer.byteLength(long)).toBeLessThanOrEqual(66 * 1024);
  expect(long).toContain('left out, not kept');
});

test('a note that after:tool adds to an output of full length does not have it cut a second time', async () => {
  const content = `${'x'.repeat(50 * 1024)}\n[checked]`;
  expect(await run('after:tool', { 'after:tool': () => ({ content }) })).toMatchObject({ answer: { content } });
});

test('a cancel reaches the hook, and ends the step even if the hook ignores it', async () => {
  const begun = gate<HookContext>();
  const hook = (_: object, ctx: HookContext<'before:llm'>) => {
    begun.open(ctx as HookContext);
    return gate<undefined>().promise;
  };
  const handle = await start('before:llm', { 'before:llm': hook });
  const ctx = await begun.promise;
  await handle.cancel();
  await expect(handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
  expect(ctx.signal.aborted).toBe(true);
});

test('a transcript that is not available is retried, and is the error of the hook only at the end', async () => {
  const attempts: string[] = [];
  const hook = async (_: object, ctx: HookContext<'approve:tool'>) => {
    attempts.push('asked');
    await ctx.messages();
    return { approved: true };
  };
  const { answer } = await run('approve:tool', { 'approve:tool': hook }, { stale: true });
  expect(answer).toEqual({
    approved: false,
    reason: "Permission check failed: The transcript could not be read from the thread's workflow",
  });
  expect(attempts).toHaveLength(3);
});

test('a hook that works without the unavailable transcript answers immediately', async () => {
  const hook = (_: object, ctx: HookContext<'approve:tool'>) => ctx.messages().then(broken, () => ({ approved: true }));
  expect((await run('approve:tool', { 'approve:tool': hook }, { stale: true })).answer).toEqual({ approved: true });
});
