import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { startTemporal } from '../../scripts/temporal.js';

/**
 * A mistake of the SDK's core (1.24.0), without this engine: `npx tsx test/replay/update-after-empty-task.ts`: of 60 workflows some diverge, under load a quarter.
 *
 * A workflow's first task ends without a command. An update begins the next, while a query is asked, on a worker that has to replay the
 * workflow: it takes both tasks for one, with one time and in one activation. Any later replay sees two. With a command in the first task it does
 * not happen, which is why ours always has one (src/workflows/interceptors.ts).
 */
async function main(): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const server = await startTemporal({ own: true });
  const { address } = server;
  const client = new Client({ connection: await Connection.connect({ address }) });
  const workflowsPath = require.resolve('./update-after-empty-task-workflow');
  const workflowBundle = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') });
  for (const maxCachedWorkflows of [0, 500]) {
    const connection = await NativeConnection.connect({ address });
    const worker = await Worker.create({
      connection,
      workflowBundle,
      taskQueue: 'q',
      maxCachedWorkflows,
      stickyQueueScheduleToStartTimeout: '1s',
    });
    void worker.run();
  }
  const told: Record<string, number> = {};
  const one = async (id: number) => {
    const workflowId = `poked-${id}`;
    const handle = await client.workflow.start('pokedLater', { workflowId, taskQueue: 'q' });
    await sleep(500 + Math.random() * 2_000);
    for (let i = 0; i < 3; i++) void handle.query('look').catch(() => undefined);
    await sleep(Math.random() * 20);
    await handle.executeUpdate('poke').catch(() => undefined);
    const result = await Promise.race([handle.result().catch(String), sleep(10_000).then(() => 'stuck')]);
    const history = await handle.fetchHistory();
    let replay = 'replays';
    for await (const { error } of Worker.runReplayHistories({ workflowBundle }, [{ workflowId, history }])) if (error) replay = 'diverges';
    told[`${result}, ${replay}`] = (told[`${result}, ${replay}`] ?? 0) + 1;
  };
  await Promise.all(Array.from({ length: 60 }, (_, id) => one(id)));
  console.log(told);
  await server.stop();
  process.exit(0);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

void main();
