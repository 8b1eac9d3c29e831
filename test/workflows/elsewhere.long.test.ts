import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { callTools, say, stall } from '../../src/testing/model-server';
import { paying } from '../support/agents/paying';
import { inPackage } from '../support/in-package';
import { startProxy } from '../support/proxy';
import { type Rig, startRig, startWorkerProcess, until, type WorkerProcess } from '../support/rig';
import { closeBeforeServers } from '../support/temporal';
import { requestsOf, scenes, story } from './scenes';

const { script, scene } = scenes();
const workspace = mkdtempSync(join(tmpdir(), 'longhaul-elsewhere-'));
afterAll(() => rmSync(workspace, { recursive: true, force: true }));

/** Threads live in the worker of this process, which carries out no step; their steps are carried out in a process of their own. */
async function apart(): Promise<{ rig: Rig; startSteps(): Promise<WorkerProcess> }> {
  const rig = await startRig({ script, agents: [paying], worker: { temporal: { enableNonLocalActivities: false } } });
  const startSteps = () =>
    startWorkerProcess({
      address: rig.address,
      taskQueue: rig.taskQueue,
      agentsFile: inPackage('agents/paying.js'),
      modelUrl: rig.model.url,
      env: { LONGHAUL_WORKSPACE: workspace },
    });
  return { rig, startSteps };
}

test('a once tool whose task reaches a frozen worker does not begin there after its outcome was recorded', async () => {
  const { rig, startSteps } = await apart();
  const thread = await rig.client.start(paying, scene([callTools([{ name: 'pay', args: {}, id: 'call_p' }]), say('done')]));
  const steps = await startSteps();
  await until(
    () => thread.pending(),
    (pending) => pending.length === 1,
  );
  // Its open polls take the task.
  steps.signal('SIGSTOP');
  try {
    await thread.approve('call_p', { by: 'dana' });
    const told = await until(
      () => thread.messages(),
      (messages) => messages.some(({ role }) => role === 'tool'),
    );
    expect(told.find(({ role }) => role === 'tool')).toMatchObject({ content: expect.stringContaining('the worker was lost') });
  } finally {
    steps.signal('SIGCONT');
  }
  // The thawed worker works: it makes the call that follows, behind the one it took in its sleep.
  expect((await story(thread)).at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
  expect(existsSync(join(workspace, 'paid'))).toBe(false);
});

test('[A98] a cancel reaches a step in another process with its next heartbeat', async () => {
  const { rig, startSteps } = await apart();
  const input = scene([stall('The answer begins')]);
  const thread = await rig.client.start(paying, input);
  await startSteps();
  await until(
    () => requestsOf(rig, input).length,
    (n) => n === 1,
  );
  await thread.cancel();
  expect(await requestsOf(rig, input)[0]?.closed).toBe('by-client');
  expect((await story(thread)).at(-1)?.type).toBe('thread.run.cancelled');
});

test('if the latency to the server is longer than the heartbeat timeout, a run ends nevertheless, with few wasted model calls', async () => {
  const near = await startRig({ script, agents: [paying], workers: 0 });
  // There and back in 1.6 s; heartbeats must come within 1 s.
  const way = await startProxy(near.address);
  closeBeforeServers(() => way.close());
  way.delay(800);
  const far = await startRig({ script, agents: [paying], address: way.address, worker: { takeoverMs: 3_000 } });
  const input = scene([say('done')]);
  const thread = await near.client.start(paying, input, { taskQueue: far.taskQueue });
  expect((await story(thread)).at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
  expect(requestsOf(far, input).length).toBeLessThanOrEqual(2);
});
