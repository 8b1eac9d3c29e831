import { randomUUID } from 'node:crypto';
import { temporal } from '@temporalio/proto';
import { defineAgent } from '../../../src/agents';
import { callTools, say } from '../../../src/testing/model-server';
import { openApiTools } from '../../../src/tools/openapi/openapi-tools';
import { type Rig, startRig } from '../../support/rig';
import { scenes } from '../../workflows/scenes';
import { type ApiServer, json, startApi, stopServers } from './echo-server';

const secret = 'planted-secret-0192837465';
const { script, scene } = scenes();
let rig: Rig;
let api: ApiServer;

beforeAll(async () => {
  api = await startApi();
  const document = {
    openapi: '3.1.0',
    servers: [{ url: api.url }],
    security: [{ key: [], token: [] }],
    components: {
      securitySchemes: { key: { type: 'apiKey', in: 'query', name: 'key' }, token: { type: 'http', scheme: 'bearer' } },
    },
    paths: {
      '/pets': {
        get: { operationId: 'listPets' },
        post: {
          operationId: 'addPet',
          'x-idempotency-key': 'Idempotency-Key',
          requestBody: { content: { 'application/json': { schema: {} } } },
        },
      },
    },
  };
  const tools = await openApiTools({ document, credentials: ({ threadId, scheme }) => `${secret}-${scheme}-${threadId}` });
  rig = await startRig({ script, agents: [defineAgent({ name: 'keeper', model: 'openai/scripted', instructions: 'Work.', tools })] });
});

afterAll(stopServers);

test('[A170] a thread calls a service with its own credentials, which are not in its history', async () => {
  // The first answer repeats the credentials, and the second fails, so that the call is tried again with the same key.
  const keys: unknown[] = [];
  api.answer = ({ method, url, headers }, response) => {
    if (method === 'GET') return json(response, 200, { url, authorization: headers.authorization });
    keys.push(headers['idempotency-key']);
    json(response, keys.length === 1 ? 503 : 201, { url, authorization: headers.authorization });
  };
  const adding = { name: 'addPet', args: { body: { name: 'Rex' } } };
  const input = scene([callTools([{ name: 'listPets', args: {} }]), callTools([adding]), say('done')]);
  const thread = await rig.client.start('keeper', input, { id: `openapi-${randomUUID()}` });
  expect((await thread.result()).output).toBe('done');

  expect(api.received.map(({ method, headers }) => [method, headers.authorization])).toEqual(
    ['GET', 'POST', 'POST'].map((method) => [method, `Bearer ${secret}-token-${thread.id}`]),
  );
  expect(keys[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(keys[1]).toBe(keys[0]);

  const history = await rig.client.temporal.workflow.getHandle(thread.id).fetchHistory();
  const bytes = Buffer.from(temporal.api.history.v1.History.encode(history).finish());
  expect(bytes.includes('[credential]')).toBe(true);
  expect(bytes.includes(secret)).toBe(false);
});
