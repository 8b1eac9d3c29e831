import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { createCoder } from '../../src/agents';
import { LonghaulClient } from '../../src/client';
import { byTurn, hang, type ModelServer, say, slowly, startModelServer } from '../../src/testing/model-server';
import { createWorker } from '../../src/worker';
import { inPackage } from '../support/in-package';
import { startWorkerProcess, until, type WorkerProcess } from '../support/rig';
import { closeBeforeServers, sharedServer, startServer, workflowBundlePath } from '../support/temporal';

const folder = mkdtempSync(join(tmpdir(), 'longhaul-process-'));
let model: ModelServer;

beforeAll(async () => {
  model = await startModelServer(byTurn([say('Hello.')]));
});

afterAll(async () => {
  await model.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** An agents' file with an agent `greeter`; `more` is code of the same module. */
function agentsFile(more = ''): string {
  const file = join(folder, `${randomUUID()}.js`);
  writeFileSync(
    file,
    `const { defineAgent } = require(${JSON.stringify(inPackage('dist/index.js'))});
     exports.greeter = defineAgent({ name: 'greeter', model: 'test-model', instructions: 'Greet.' });
     ${more}`,
  );
  return file;
}

/** Has the worker of the process changed by `change(worker)` as soon as Temporal has made it; `options` over the engine's own. */
function patched(change: string, options = '{}'): string {
  return `const { Worker } = require('${require.resolve('@temporalio/worker')}');
    const create = Worker.create;
    Worker.create = async (given) => {
      const worker = await create.call(Worker, { ...given, ...${options} });
      (${change})(worker);
      return worker;
    };`;
}

async function startWorker(
  file: string,
  { address = sharedServer().address, modelUrl = model.url } = {},
): Promise<{ worker: WorkerProcess; client: LonghaulClient }> {
  const taskQueue = `process-${randomUUID()}`;
  const worker = await startWorkerProcess({ address, taskQueue, agentsFile: file, modelUrl });
  const client = await LonghaulClient.connect({ connection: { address }, taskQueue });
  closeBeforeServers(() => client.close());
  return { worker, client };
}

test('a worker process loads an ES module that waits for something at its top level', async () => {
  const file = join(folder, `${randomUUID()}.mjs`);
  writeFileSync(
    file,
    `import { defineAgent } from ${JSON.stringify(inPackage('dist/index.js'))};
     const instructions = await new Promise((resolve) => setTimeout(() => resolve('Greet.'), 10));
     export const greeter = defineAgent({ name: 'greeter', model: 'test-model', instructions });`,
  );
  const { client } = await startWorker(file);
  expect(await (await client.start('greeter', 'Hi.')).result()).toMatchObject({ output: 'Hello.' });
});

/** The exit code, or what the process says that should have ended. */
async function ends({ exited, log }: WorkerProcess, ms: number): Promise<number | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the process goes on after ${ms} ms:\n${log()}`)), ms);
  });
  return Promise.race([exited, late]).finally(() => clearTimeout(timer));
}

const garbage = 'Buffer.from([255, 255, 255])';

test.each([
  ['an activity', 'completeActivityTask'],
  ['a workflow task', 'completeWorkflowActivation'],
])('a worker whose completion of %s is refused ends its process with an error that says so', async (_, method) => {
  const change = `({ nativeWorker }) => {
      const complete = nativeWorker.${method}.bind(nativeWorker);
      nativeWorker.${method} = () => complete(${garbage});
    }`;
  const { worker, client } = await startWorker(agentsFile(patched(change, '{ shutdownGraceTime: 500 }')));
  await client.start('greeter', 'hello');
  expect(await ends(worker, 20_000)).toBe(1);
  const line = worker.log().trimEnd().split('\n').at(-1);
  expect(line).toMatch(/^The worker on task queue "process-.*" has failed and polls no more: Cannot decode Completion from buffer/);
});

test('a worker whose last poll is never answered ends its process nevertheless, without an error', async () => {
  // As if the native half hung: it is told to stop, and no poll ever returns.
  const change = `({ nativeWorker }) => {
    nativeWorker.pollWorkflowActivation = () => new Promise(() => {});
    nativeWorker.finalizeShutdown = () => new Promise(() => {});
  }`;
  const { worker } = await startWorker(agentsFile(patched(change, '{ shutdownGraceTime: 200, shutdownForceTime: 500 }')));
  worker.signal('SIGTERM');
  expect(await ends(worker, 20_000)).toBe(0);
  expect(worker.log()).toMatch(/did not end within 1 s of its shutdown, although nothing was running/);
});

test('a worker with a step that does not end ends its process with an error that says so', async () => {
  const change = `({ options }) => {
    options.activities.set('resolveAgent', () => {
      console.log('a step has no end');
      return new Promise(() => {});
    });
  }`;
  const { worker, client } = await startWorker(agentsFile(patched(change, '{ shutdownGraceTime: 200, shutdownForceTime: 500 }')));
  await client.start('greeter', 'hello');
  await until(
    () => worker.log(),
    (log) => log.includes('a step has no end'),
  );
  worker.signal('SIGTERM');
  expect(await ends(worker, 20_000)).toBe(1);
  expect(worker.log()).toMatch(/did not end within 1 s of its shutdown: steps still running: 1/);
});

test('a worker that stops without being asked ends its process with an error', async () => {
  const change = '(worker) => setTimeout(() => worker.shutdown(), 200)';
  const { worker } = await startWorker(
    agentsFile(patched(change.replace('worker.shutdown()', "worker.getState() === 'RUNNING' && worker.shutdown()"))),
  );
  expect(await ends(worker, 20_000)).toBe(1);
  expect(worker.log()).toContain('stopped polling without a shutdown request');
});

test('SIGTERM lets the running step finish, and then the process exits with 0', async () => {
  const slow = await startModelServer(() => slowly(say('One two three four five six seven eight.'), { chunkMs: 100, chunkSize: 2 }));
  const { worker, client } = await startWorker(agentsFile(), { modelUrl: slow.url });
  const thread = await client.start('greeter', 'hello');
  await until(
    () => slow.requests.length,
    (asked) => asked > 0,
  );
  worker.signal('SIGTERM');
  expect(await ends(worker, 15_000)).toBe(0);
  expect(worker.log()).toContain('SIGTERM: takes no new work');
  const next = await startWorkerProcess({
    address: sharedServer().address,
    taskQueue: client.taskQueue,
    agentsFile: agentsFile(),
    modelUrl: slow.url,
  });
  expect((await thread.result()).output).toBe('One two three four five six seven eight.');
  // The answer that was under way was heard to its end, and not asked for again.
  expect(slow.requests).toHaveLength(1);
  await next.kill();
  await slow.stop();
});

test('a second signal ends the process immediately, during a running step', async () => {
  const silent = await startModelServer(() => hang());
  const { worker, client } = await startWorker(agentsFile(), { modelUrl: silent.url });
  await client.start('greeter', 'hello');
  await until(
    () => silent.requests.length,
    (asked) => asked > 0,
  );
  worker.signal('SIGTERM');
  await until(
    () => worker.log(),
    (log) => log.includes('takes no new work'),
  );
  worker.signal('SIGTERM');
  expect(await ends(worker, 5_000)).toBe(143);
  await silent.stop();
});

test('a worker whose server is unreachable logs it once, keeps trying, and still ends on SIGTERM', async () => {
  const server = await startServer();
  const { worker } = await startWorker(agentsFile(), { address: server.address });
  server.kill();
  const away = () => worker.log().match(/Temporal does not answer \(Unavailable: [^)]*\)/g)?.length ?? 0;
  await until(away, (count) => count > 0, 45_000);
  // Ten polls come again and again meanwhile.
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  expect(away()).toBe(1);
  worker.signal('SIGTERM');
  expect(await ends(worker, 30_000)).toBe(0);
});

test('the health check passes while the process polls, and fails as soon as it has died', async () => {
  const { address } = sharedServer();
  const { worker, client } = await startWorker(agentsFile());
  const healthy = () =>
    new Promise<boolean>((resolve) => {
      const env = { ...process.env, TEMPORAL_ADDRESS: address, LONGHAUL_TASK_QUEUE: client.taskQueue };
      execFile(process.execPath, [join(__dirname, '../../deploy/worker-health.js')], { env }, (error) => resolve(error === null));
    });
  await until(healthy, (so) => so, 20_000);
  await worker.kill();
  // The server still lists its last polls.
  expect(await healthy()).toBe(false);
});

test('a missing namespace is reported in one line, with the command that creates it', async () => {
  const started = startWorkerProcess({
    address: sharedServer().address,
    taskQueue: 'none',
    agentsFile: agentsFile(),
    modelUrl: model.url,
    env: { TEMPORAL_NAMESPACE: 'nowhere' },
  });
  // What the native half warns of may be written before, or not any more.
  await expect(started).rejects.toThrow(
    /ended with 1:\n(?:\S+ warn: .*\n)?Temporal has no namespace "nowhere"\. Create it \("temporal operator namespace create -n nowhere"\) or set TEMPORAL_NAMESPACE\.\n$/,
  );
});

test.each([
  [
    { TEMPORAL_DEPLOYMENT_NAME: 'support' },
    /ended with 1:\nWorker versioning needs TEMPORAL_DEPLOYMENT_NAME and TEMPORAL_WORKER_BUILD_ID\./,
  ],
  [
    { TEMPORAL_DEPLOYMENT_NAME: 'support', TEMPORAL_WORKER_BUILD_ID: '7', LONGHAUL_VERSIONING: 'PINNED' },
    /ended with 1:\nLONGHAUL_VERSIONING is "PINNED"; it must be auto-upgrade or pinned\./,
  ],
])('a version that makes no sense is told in one line: %j', async (env: Record<string, string>, words) => {
  const { address } = sharedServer();
  const started = startWorkerProcess({ address, taskQueue: 'none', agentsFile: agentsFile(), modelUrl: model.url, env });
  await expect(started).rejects.toThrow(words);
});

test('a worker process reports its version, and gets the threads of that version once it is current', async () => {
  const { address, namespace } = sharedServer();
  const [taskQueue, deploymentName] = [randomUUID(), randomUUID()];
  const env = { TEMPORAL_DEPLOYMENT_NAME: deploymentName, TEMPORAL_WORKER_BUILD_ID: '7', LONGHAUL_VERSIONING: 'pinned' };
  const worker = await startWorkerProcess({ address, taskQueue, agentsFile: agentsFile(), modelUrl: model.url, env });
  expect(worker.log()).toContain(`on task queue ${taskQueue}, version 7 of ${deploymentName}`);
  const client = await LonghaulClient.connect({ connection: { address }, taskQueue });
  closeBeforeServers(() => client.close());
  const { workflowService } = client.temporal;
  await until(
    () => workflowService.setWorkerDeploymentCurrentVersion({ namespace, deploymentName, buildId: '7' }).catch(() => undefined),
    (answer) => answer !== undefined,
  );
  expect((await (await client.start('greeter', 'hello')).result()).output).toBe('Hello.');
  worker.signal('SIGTERM');
  expect(await ends(worker, 20_000)).toBe(0);
});

test('a worker without a task queue polls the one that clients with the same environment use', async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const connection = await NativeConnection.connect({ address: sharedServer().address });
  const before = process.env.LONGHAUL_TASK_QUEUE;
  process.env.LONGHAUL_TASK_QUEUE = `environment-${randomUUID()}`;
  try {
    const worker = await createWorker({
      agents: [createCoder({ environment: {} })],
      connection,
      workflowBundle: { codePath: workflowBundlePath() },
    });
    const client = await LonghaulClient.connect({ connection: { address: sharedServer().address } });
    expect(worker.taskQueue).toBe(process.env.LONGHAUL_TASK_QUEUE);
    expect(client.taskQueue).toBe(worker.taskQueue);
    await client.close();
    const running = worker.run();
    worker.shutdown();
    await running;
  } finally {
    if (before === undefined) delete process.env.LONGHAUL_TASK_QUEUE;
    else process.env.LONGHAUL_TASK_QUEUE = before;
    await connection.close();
  }
});
