// Needs only the SDK (1.24.0) and a Temporal CLI: npx tsx reproduce.ts [seconds] [updates]. See README.md.
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection, defaultPayloadConverter, type WorkflowHandle } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import type { counter, Seen } from './workflow';

const workflows = 12;
const updates = process.argv[3] === 'updates';
const roundMs = 15_000;
const port = 17_233;
const taskQueue = 'counters';

type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;

async function main(): Promise<void> {
  const seconds = Number(process.argv[2] ?? 60);
  Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter: 'ERROR' } } });
  const server = spawn(
    process.env.TEMPORAL_CLI_PATH ?? 'temporal',
    ['server', 'start-dev', '--headless', '--port', `${port}`, '--log-level', 'never'].concat(
      ['--dynamic-config-value', `limit.historyCount.suggestContinueAsNew=${updates ? 1_000 : 12}`],
      ['--dynamic-config-value', 'history.transferProcessorMaxPollRPS=1000'],
    ),
    { stdio: 'ignore' },
  );
  try {
    await reproduce(Date.now() + seconds * 1_000);
  } finally {
    server.kill('SIGKILL');
  }
}

async function reproduce(until: number): Promise<void> {
  const address = `127.0.0.1:${port}`;
  const connection = await connected(address);
  const client = new Client({ connection });
  const native = await NativeConnection.connect({ address });
  const workflowBundle = await bundleWorkflowCode({ workflowsPath: require.resolve('./workflow'), logger: new DefaultLogger('ERROR') });
  const worker = await Worker.create({
    connection: native,
    taskQueue,
    workflowBundle,
    activities: { note: () => sleep(Math.random() * 20) },
    // Fewer than there are workflows: they are evicted and replayed all the time.
    maxCachedWorkflows: 3,
    // Few concurrent tasks, so that tasks wait and queries are answered before them; and a sticky queue with a short timeout.
    ...(updates && { maxConcurrentWorkflowTaskExecutions: 3, stickyQueueScheduleToStartTimeout: '100ms' }),
  });
  const total = { tasks: 0, wrong: 0, executions: 0, diverged: 0 };
  const running = worker.run();
  try {
    for (let round = 1; Date.now() < until; round++) {
      const handles = await Promise.all(
        Array.from({ length: workflows }, (_, i) =>
          client.workflow.start<typeof counter>('counter', {
            workflowId: `counter-${round}-${i}`,
            taskQueue,
            args: updates ? [1, 12] : [8, 100],
          }),
        ),
      );
      await Promise.all(handles.map(queriedToItsEnd));
      for (const { workflowId } of handles) await check(client, workflowId, workflowBundle, total);
      console.log(JSON.stringify({ round, ...total }));
    }
  } finally {
    worker.shutdown();
    await running;
  }
  await native.close();
  await connection.close();
}

/** A reader asks all the time, and sends an update when something has changed. */
async function queriedToItsEnd(handle: WorkflowHandle): Promise<void> {
  let isOver = false;
  const ask = async () => {
    for (let known: unknown; !isOver; await sleep(Math.random() * 60)) {
      const steps = await handle.query('steps').catch(() => known);
      if (updates && steps !== known) handle.executeUpdate('nudge').catch(() => undefined);
      known = steps;
    }
  };
  const reader = ask();
  // A workflow that does not replay is stuck permanently.
  await Promise.race([handle.result(), sleep(roundMs)]);
  isOver = true;
  await reader;
}

/** Compares what workflow code saw with what the server wrote into the same workflow task, and replays. */
async function check(
  client: Client,
  workflowId: string,
  workflowBundle: { code: string },
  total: { tasks: number; wrong: number; executions: number; diverged: number },
): Promise<void> {
  await client.workflow
    .getHandle(workflowId)
    .terminate()
    .then(() => console.log(`${workflowId} was not done after ${roundMs / 1_000} s`))
    .catch(() => undefined);
  for (let runId: string | undefined = (await client.workflow.getHandle(workflowId).describe()).runId; runId; ) {
    const history: History = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    const events = history.events ?? [];
    const byId = new Map(events.map((event) => [String(event.eventId), event]));
    for (const event of events) {
      const scheduled = event.activityTaskScheduledEventAttributes;
      const payload = scheduled?.input?.payloads?.[0];
      if (!scheduled || !payload) continue;
      const completed = byId.get(String(scheduled.workflowTaskCompletedEventId))?.workflowTaskCompletedEventAttributes;
      const startedId = String(completed?.startedEventId);
      const started = byId.get(startedId)?.workflowTaskStartedEventAttributes;
      const seen = defaultPayloadConverter.fromPayload<Seen>(payload);
      const recorded = {
        continueAsNewSuggested: started?.suggestContinueAsNew ?? false,
        historyLength: Number(startedId),
        historySize: Number(String(started?.historySizeBytes)),
      };
      total.tasks += 1;
      if (JSON.stringify(seen) === JSON.stringify(recorded)) continue;
      total.wrong += 1;
      console.log(`${workflowId} ${runId}: workflow code saw ${JSON.stringify(seen)}, the history says ${JSON.stringify(recorded)}`);
    }
    total.executions += 1;
    const error = await Worker.runReplayHistory({ workflowBundle }, history, workflowId).catch((thrown: Error) => thrown);
    if (error) {
      total.diverged += 1;
      console.log(`${workflowId} ${runId} does not replay: ${error.message.replace(/^.*Details: /s, '').slice(0, 300)}`);
    }
    runId = events[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId || undefined;
  }
}

async function connected(address: string): Promise<Connection> {
  for (;;) {
    const connection = await Connection.connect({ address, connectTimeout: '1s' }).catch(() => undefined);
    if (connection) return connection;
    await sleep(100);
  }
}

main().then(
  () => process.exit(),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
