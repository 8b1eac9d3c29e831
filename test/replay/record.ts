import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { memoryArtifacts } from '../../src/artifacts';
import { defaultModels } from '../../src/models/registry';
import { startCompactingServer } from '../support/compacting-server';
import { type Rig, startRig, until } from '../support/rig';
import { nameOf, toFile } from './history-file';
import { agents, compactingReply, replyTo, representativeRuns } from './representative-runs';

const folder = join(__dirname, 'histories');

// Records the runs that have no history: npx jest --testMatch '**/test/replay/record.ts'. Where a change of the workflow's commands is meant,
// and no thread that began before it need go on, its history is deleted first; never one that was recorded at a tagged version.
test('the representative runs are recorded', async () => {
  const usual = await startRig({ script: replyTo, agents, bus: true });
  const short = await startRig({ script: replyTo, agents, bus: true, worker: { continueAsNewAfter: { events: 90, bytes: 4_000_000 } } });
  const { url } = await startCompactingServer(compactingReply);
  const models = defaultModels({ openai: { baseUrl: `${url}/v1`, apiKey: 'test' } });
  const compacting = await startRig({ script: replyTo, agents, worker: { models, artifacts: memoryArtifacts() } });
  mkdirSync(folder, { recursive: true });
  const recorded = new Set(readdirSync(folder).map(nameOf));
  for (const [name, { short: isShort, compacts }] of Object.entries(representativeRuns)) {
    if (!recorded.has(name)) await recordRun(compacts ? compacting : isShort ? short : usual, name);
  }
});

async function recordRun({ client }: Rig, name: string): Promise<void> {
  const { act, mode, agent = 'representative' } = representativeRuns[name] ?? {};
  const thread = await client.start(agent, name, { ...(mode && { mode }) });
  await act?.(thread);
  const handle = client.temporal.workflow.getHandle(thread.id);
  await until(
    () => handle.describe(),
    (now) => now.status.name !== 'RUNNING',
  );
  let execution: string | undefined = (await handle.describe()).runId;
  const executions: string[] = [];
  const calls: string[] = [];
  while (execution) {
    const history = await client.temporal.workflow.getHandle(thread.id, execution).fetchHistory();
    executions.unshift(toFile(history));
    for (const { childWorkflowExecutionStartedEventAttributes: started } of history.events ?? []) {
      const { workflowId = '', runId } = started?.workflowExecution ?? {};
      if (started) calls.push(toFile(await client.temporal.workflow.getHandle(workflowId ?? '', runId ?? undefined).fetchHistory()));
    }
    execution = history.events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId || undefined;
  }
  const parts = [...executions, ...calls];
  for (const [i, json] of parts.entries()) {
    writeFileSync(join(folder, `${name}${parts.length > 1 ? `-${i + 1}` : ''}.json`), json);
  }
}
