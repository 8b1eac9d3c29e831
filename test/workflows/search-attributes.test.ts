import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { searchAttributes as registeredAtStart } from '../../scripts/temporal.js';
import { registerSearchAttributes } from '../../src/activities/register-search-attributes';
import { defineAgent } from '../../src/agents';
import { LonghaulClient } from '../../src/client';
import { searchAttributes, searchAttributeTypes } from '../../src/contract/search-attributes';
import { byTurn, say } from '../../src/testing/model-server';
import { startRig, until } from '../support/rig';
import { startServer } from '../support/temporal';

const plain = (name: string) => defineAgent({ name, model: 'test-model', instructions: 'Be brief.' });
const agent = plain('plain');

test('a thread is found by its agent and status, once the server has indexed it', async () => {
  const rig = await startRig({ script: byTurn([say('Hello.')]), agents: [agent] });
  const thread = await rig.client.start(agent, 'Hi');
  await thread.result();
  const query = `AgentName = 'plain' AND AgentStatus = 'completed' AND WorkflowId = '${thread.id}'`;
  const found = await until(
    () => rig.client.list({ query }),
    (threads) => threads.length === 1,
  );
  expect(found[0]).toMatchObject({ id: thread.id, agent: 'plain', execution: 'COMPLETED', status: 'completed' });
});

test('if a namespace has no room for the search attributes, threads run without them', async () => {
  const server = await startServer();
  const connection = await Connection.connect({ address: server.address });
  const namespace = 'full';
  await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: { seconds: 86_400 as never } });
  // The server allows ten keywords; with these, ours do not fit in.
  const keywords = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`Taken${i}`, 2]));
  await until(
    () => connection.operatorService.addSearchAttributes({ namespace, searchAttributes: keywords }).then(() => true, String),
    (done) => done === true,
  );
  const native = await NativeConnection.connect({ address: server.address });
  expect(await registerSearchAttributes(native, namespace)).toMatchObject({ registered: false, why: expect.any(String) });

  const rig = await startRig({ script: byTurn([say('Hello.')]), agents: [agent], address: server.address, workers: 0 });
  await rig.addWorker({ namespace });
  const client = await LonghaulClient.connect({ connection: { address: server.address }, namespace, taskQueue: rig.taskQueue });
  const thread = await client.start(agent, 'Hi');
  expect(await thread.result()).toMatchObject({ status: 'completed', output: 'Hello.' });
  expect((await thread.status()).facts).toMatchObject({ searchAttributes: false });

  const waits = await client.start('later', 'Hi');
  await until(
    () => waits.status(),
    ({ status }) => status === 'queued',
  );
  await rig.addWorker({ namespace, agents: [plain('later')] });
  expect(await waits.result()).toMatchObject({ status: 'completed', output: 'Hello.' });
  await Promise.all([client.close(), connection.close(), native.close()]);
});

test('registration happens once, by the first worker, and can be repeated', async () => {
  const server = await startServer();
  const native = await NativeConnection.connect({ address: server.address });
  const results = await Promise.all([1, 2, 3].map(() => registerSearchAttributes(native, 'default')));
  expect(results).toEqual([{ registered: true }, { registered: true }, { registered: true }]);
  const { customAttributes } = await native.operatorService.listSearchAttributes({ namespace: 'default' });
  expect(Object.keys(customAttributes)).toEqual(expect.arrayContaining(Object.values(searchAttributes).map(({ name }) => name)));
  await native.close();
});

test('the servers that the scripts start have the search attributes that threads set', () => {
  const expected = Object.values(searchAttributes).map(({ name, type }) => [name, searchAttributeTypes[type]]);
  expect(registeredAtStart).toEqual(Object.fromEntries(expected));
  const script = readFileSync(join(__dirname, '../../deploy/setup-namespace.sh'), 'utf8');
  expect(expected.filter(([name, type]) => !script.includes(`--name ${name} --type ${type}`))).toEqual([]);
});
