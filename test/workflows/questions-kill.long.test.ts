import { join } from 'node:path';
import type { Thread } from '../../src/client';
import { callTools, say } from '../../src/testing/model-server';
import { inPackage } from '../support/in-package';
import { startRig, startWorkerProcess, until } from '../support/rig';
import { scenes, story } from './scenes';

const { script, scene } = scenes();
const asks = (thread: Thread, message: string) =>
  until(
    () => thread.pending(),
    ([call]) => call?.question?.message === message,
  );

test('a question of an MCP server survives the death of the worker, and the answers before it, too', async () => {
  const rig = await startRig({ script, agents: [], workers: 0 });
  const startWorker = () =>
    startWorkerProcess({
      address: rig.address,
      taskQueue: rig.taskQueue,
      agentsFile: inPackage('agents/asking.js'),
      modelUrl: rig.model.url,
      env: { ASKING_SERVER: join(__dirname, '../tools/mcp/asking-server.mjs') },
    });
  const first = await startWorker();
  const thread = await rig.client.start('asking', scene([callTools([{ name: 'own__two', args: {}, id: 'call_1' }]), say('Done.')]));
  await asks(thread, 'How many seats, and where?');
  await first.kill();

  const second = await startWorker();
  await thread.answerQuestion('call_1', { content: { seats: 2 } });
  await asks(thread, 'Really?');
  await second.kill();

  const third = await startWorker();
  await thread.answerQuestion('call_1', { action: 'decline' });
  const events = await story(thread);
  expect(events.at(-1)?.type).toBe('thread.run.completed');
  const result = (await thread.messages()).find(({ role }) => role === 'tool');
  expect(result?.content).toBe('[{"action":"accept","content":{"seats":2}},{"action":"decline"}]');
  await third.kill();
});
