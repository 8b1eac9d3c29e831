import { generateKeyPairSync } from 'node:crypto';
import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { createSigner, LonghaulClient } from '../../src/client';
import { callTools, fail } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { createVerifier } from '../../src/worker';
import { type Rig, startRig } from '../support/rig';
import { reaches } from './asking';
import { gate, ofType, scenes, story } from './scenes';

const { script, scene } = scenes();
const undone: string[] = [];
const book = defineTool({
  name: 'book',
  description: 'Books.',
  input: z.object({ id: z.string() }),
  effect: 'saga',
  approval: 'always',
  execute: ({ id }) => `booked ${id}`,
  compensate: ({ id }) => void undone.push(id),
});
const agent = defineAgent({ name: 'traveller', model: 'test-model', instructions: 'Book.', tools: [book], retry: { maxAttempts: 1 } });
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const verifier = createVerifier({ dana: { publicKey: publicKey.export({ format: 'pem', type: 'spki' }) as string } });

/** Starts a run that books, and then fails once `broken` resolves. */
async function booking(rig: Rig, id: string, broken: Promise<void>) {
  const reply = callTools([{ name: 'book', args: { id }, id: 'call_book' }]);
  const input = scene(({ turn }) => (turn === 0 ? reply : broken.then(() => fail(400, { message: 'broken' }))));
  const thread = await rig.client.start(agent, input);
  await reaches(thread, 'requires_action', 1);
  return thread;
}

test('a worker with a verifier compensates a call whose approval was signed', async () => {
  const rig = await startRig({ script, agents: [agent], worker: { verifier } });
  const thread = await booking(rig, 'signed', Promise.resolve());
  const signing = new LonghaulClient(rig.client.temporal, { ...rig.client.options, signer: createSigner({ by: 'dana', privateKey }) });
  await signing.attach(thread.id).approve('call_book');
  expect(ofType(await story(thread), 'agent.tool.compensation.completed')).toHaveLength(1);
  expect(undone).toEqual(['signed']);
});

test('it does not compensate a call that nobody signed for, and says so', async () => {
  const rig = await startRig({ script, agents: [agent] });
  const { open, opened } = gate();
  const thread = await booking(rig, 'unsigned', opened);
  await thread.approve('call_book');
  await reaches(thread, 'in_progress');
  const [old] = rig.workers;
  await rig.addWorker({ verifier });
  await old?.stop();
  open();
  expect(ofType(await story(thread), 'agent.tool.compensation.failed').map(({ data }) => data.message)).toEqual([
    expect.stringContaining('needs a signed approval of this call'),
  ]);
  expect(undone).not.toContain('unsigned');
});
