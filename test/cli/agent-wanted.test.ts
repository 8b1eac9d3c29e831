import { defineAgent } from '../../src/agents';
import { say } from '../../src/testing/model-server';
import { startRig, until } from '../support/rig';
import { longhaul, start } from './command';

const [old, added] = ['old', 'added'].map((name) => defineAgent({ name, model: 'test-model', instructions: 'Answer.' })) as [any, any];

test('run and show report a thread that waits for a worker with its agent, and the agents of the last worker', async () => {
  const rig = await startRig({ script: () => say('Here I am.'), agents: [old] });
  const env = { TEMPORAL_ADDRESS: rig.address };
  const id = `wanted-${rig.taskQueue}`;
  const run = start(['run', '--agent', 'added', '--thread', id, '--task-queue', rig.taskQueue, 'hello'], { env });
  await run.says(/… Waiting for a worker that has the agent\. Unknown agent 'added'.*This worker has: old\./, 30_000);

  const shown = await until(
    () => longhaul(['show', id], { env }),
    ({ stdout }) => stdout.includes('waits'),
  );
  expect(shown.stdout).toMatch(
    /waits +for a worker that has the agent\. Unknown agent 'added'.*This worker has: old\. \(resolveAgent, attempt \d+\)/,
  );
  const json = JSON.parse((await longhaul(['show', id, '--json'], { env })).stdout);
  expect(json.agentWanted).toEqual({ step: 'resolveAgent', attempt: expect.any(Number), lastAnswer: expect.stringMatching(/has: old/) });

  await rig.addWorker({ agents: [old, added] });
  expect(await run.ended).toMatchObject({ code: 0, stdout: expect.stringContaining('Here I am.') });
  expect((await longhaul(['show', id], { env })).stdout).not.toContain('waits');
});
