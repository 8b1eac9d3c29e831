import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { z } from 'zod';
import { startTemporal, type TemporalServer } from '../../scripts/temporal.js';
import { type Agent, defineAgent } from '../../src/agents';
import { callTools, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { workflowBundleOptions } from '../../src/workflow-bundle';
import { type Rig, type RunningWorker, startRig, until } from '../support/rig';

/**
 * Not one of `startServer`, whose histories are replayed against the code of this project when the tests have ended: some of these were
 * made by code that this project never had.
 */
let server: TemporalServer;
beforeAll(async () => {
  server = await startTemporal({ own: true });
});
afterAll(() => server.stop());

/** The agents of a version. `support` asks before it uses its tool, which says whose it is; `fresh` came with version 2. */
function agentsOf(version: string): Agent[] {
  const work = defineTool({
    name: 'work',
    description: 'Works.',
    input: z.object({}),
    effect: 'keyed',
    approval: 'always',
    execute: async () => `the tool of version ${version}`,
  });
  const support = defineAgent({ name: 'support', model: 'test-model', instructions: 'Work.', tools: [work] });
  const fresh = defineAgent({ name: 'fresh', model: 'test-model', instructions: `Version ${version}.` });
  return version === '1' ? [support] : [support, fresh];
}

/** The workflow code with one more statement before the loop. */
async function changedCode(change: string): Promise<{ code: string }> {
  const options = workflowBundleOptions();
  return bundleWorkflowCode({
    ...options,
    logger: new DefaultLogger('ERROR'),
    webpackConfigHook: (config) => {
      const leaner = options.webpackConfigHook?.(config) ?? config;
      leaner.module?.rules?.push({
        test: /agent-thread\.ts$/,
        enforce: 'pre',
        use: { loader: join(__dirname, '../support/changed-workflow.js'), options: { change } },
      });
      return leaner;
    },
  });
}

interface Versions {
  rig: Rig;
  add(buildId: string, workflowBundle?: { code: string }): Promise<RunningWorker>;
  /** From here on new threads, and those that upgrade by themselves, are this version's. */
  makeCurrent(buildId: string): Promise<void>;
}

async function startVersions(behavior: 'pinned' | 'auto-upgrade'): Promise<Versions> {
  const rig = await startRig({
    address: server.address,
    agents: agentsOf('1'),
    workers: 0,
    script: ({ messages }) => {
      const result = messages.findLast(({ role }) => role === 'tool')?.content;
      if (result) return say(`Done with ${result}.`);
      const instructions = String(messages[0]?.content);
      return instructions.startsWith('Version') ? say(instructions) : callTools([{ name: 'work', args: {} }]);
    },
  });
  const name = `service-${randomUUID()}`;
  const { temporal } = rig.client;
  return {
    rig,
    add: (buildId, workflowBundle) =>
      rig.addWorker({ agents: agentsOf(buildId), deployment: { name, buildId, behavior }, ...(workflowBundle && { workflowBundle }) }),
    async makeCurrent(buildId) {
      const { namespace } = temporal.options;
      // The server knows a version once a worker of it has polled.
      const told = () =>
        temporal.workflowService.setWorkerDeploymentCurrentVersion({ namespace, deploymentName: name, buildId }).then(
          () => 'done',
          (error: Error) => error.message,
        );
      await until(told, (answer) => answer === 'done', 30_000);
    },
  };
}

/** A thread of `support` that waits for its approval. */
async function startWaiting(rig: Rig) {
  const thread = await rig.client.start('support', 'Work.');
  const { pending } = await until(
    () => thread.status(),
    ({ status }) => status === 'requires_action',
  );
  return { thread, callId: pending[0]?.toolCallId ?? '' };
}

const outputOf = async ({ client }: Rig, agent: string) => (await (await client.start(agent, 'Hello.')).result()).output;

test('a pinned thread stays with its version until it ends, with code that the next version could not replay', async () => {
  const { rig, add, makeCurrent } = await startVersions('pinned');
  const first = await add('1');
  await makeCurrent('1');
  const { thread, callId } = await startWaiting(rig);
  // Unguarded: a thread of version 1 that this code replayed would diverge.
  await add('2', await changedCode("await pause('1ms');"));
  await makeCurrent('2');
  expect(await outputOf(rig, 'fresh')).toBe('Version 2.');
  // Its worker is replaced, so that its history is replayed.
  await first.stop();
  await add('1');
  await thread.approve(callId, { by: 'dana' });
  expect((await thread.result()).output).toBe('Done with the tool of version 1.');
});

test('an auto-upgrade thread continues with the current version, whose changes are guarded by patched', async () => {
  const { rig, add, makeCurrent } = await startVersions('auto-upgrade');
  const first = await add('1');
  await makeCurrent('1');
  const { thread, callId } = await startWaiting(rig);
  await add('2', await changedCode("if (isPatched('pause-first')) await pause('1ms');"));
  await makeCurrent('2');
  await first.stop();
  await thread.approve(callId, { by: 'dana' });
  expect((await thread.result()).output).toBe('Done with the tool of version 2.');
  expect(await outputOf(rig, 'fresh')).toBe('Version 2.');
});

test('a run whose agent only the next version has waits until that version is current, and needs no retry', async () => {
  const { rig, add, makeCurrent } = await startVersions('auto-upgrade');
  await add('1');
  await makeCurrent('1');
  const thread = await rig.client.start('fresh', 'Hello.');
  await until(
    () => thread.status(),
    ({ status }) => status === 'queued',
  );
  await add('2');
  await makeCurrent('2');
  expect((await thread.result()).output).toBe('Version 2.');
});

test.each([
  [{ name: '', buildId: '1' }, /deployment\.name must be a non-empty string/],
  [{ name: 'service', buildId: undefined as unknown as string }, /deployment\.buildId must be a non-empty string/],
  [{ name: 'service', buildId: '1', behavior: 'PINNED' as 'pinned' }, /deployment\.behavior is "PINNED"/],
])('an invalid deployment is refused: %j', async (deployment, words) => {
  const rig = await startRig({ agents: agentsOf('1'), workers: 0, script: [] });
  await expect(rig.addWorker({ deployment })).rejects.toThrow(words);
});
