import { createHash, generateKeyPairSync } from 'node:crypto';
import { defineAgent } from '../../src/agents';
import { createSigner, LonghaulClient } from '../../src/client';
import { callTools, say } from '../../src/testing/model-server';
import { mcpTools } from '../../src/tools';
import { createVerifier } from '../../src/worker';
import { type Rig, startRig } from '../support/rig';
import { askingOverStdio, endAskingServers } from '../tools/mcp/asking-host';
import { ask, reaches, refusal } from './asking';
import { ofType, scenes, story } from './scenes';

const { script, scene } = scenes();
const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const pem = (key: typeof publicKey, type: 'spki' | 'pkcs8') => key.export({ format: 'pem', type } as never) as string;

let rig: Rig;
let dana: LonghaulClient;
beforeAll(async () => {
  const tools = [mcpTools({ servers: { own: { ...askingOverStdio({ groups: ['leads'] }).server } } })];
  const verifier = createVerifier({ dana: { publicKey: pem(publicKey, 'spki'), groups: ['leads'] } });
  rig = await startRig({
    script,
    agents: [defineAgent({ name: 'clerk', model: 'openai/scripted', instructions: 'Work.', tools })],
    worker: { verifier },
  });
  const signer = createSigner({ by: 'dana', privateKey: pem(privateKey, 'pkcs8') });
  dana = new LonghaulClient(rig.client.temporal, { ...rig.client.options, taskQueue: rig.taskQueue, signer });
});
afterAll(endAskingServers);

test('with a verifier, only a signed answer to exactly this question counts, and the log keeps the statement', async () => {
  const thread = await rig.client.start('clerk', scene([callTools([{ name: 'own__book', args: {}, id: 'call_1' }]), say('Done.')]));
  const { pending } = await reaches(thread, 'requires_action', 1);
  expect(pending[0]).toMatchObject({ kind: 'tool-question', signed: true });
  const answer = { toolCallId: 'call_1', content: { seats: 2 }, by: 'dana', groups: ['leads'] };
  expect(await refusal(ask(thread, 'answerQuestion', answer))).toContain('a signed answer must name its question');
  const questionId = pending[0]?.question?.id;
  expect(await refusal(ask(thread, 'answerQuestion', { ...answer, questionId }))).toContain(
    'this thread takes signed answers and outputs only',
  );
  expect(await refusal(ask(thread, 'answerQuestion', { ...answer, questionId, signature: 'AAAA' }))).toContain(
    'what was asked still waits',
  );
  await dana.attach(thread.id).answerQuestion('call_1', { content: { seats: 2 } });
  const [answered] = ofType(await story(thread), 'agent.tool.question.answered');
  expect(answered?.data).toMatchObject({ by: 'dana', action: 'accept', content: { seats: 2 } });
  expect(JSON.parse(answered?.data.signed?.statement ?? '{}')).toMatchObject({
    request: 'answerQuestion',
    by: 'dana',
    toolCallId: 'call_1',
    question: questionId,
    action: 'accept',
    content: `sha256:${createHash('sha256').update('{"seats":2}').digest('hex')}`,
  });
});
