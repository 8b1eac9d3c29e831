import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporal } from '@temporalio/proto';
import { defineAgent } from '../../../src/agents';
import { keysFromText } from '../../../src/encoding/key-provider';
import { defaultModels } from '../../../src/models/registry';
import { callTools, say } from '../../../src/testing/model-server';
import { folderTokenStore, mcpTools, oauth, type TokenGrant } from '../../../src/tools';
import { type Rig, startRig } from '../../support/rig';
import { scenes } from '../../workflows/scenes';
import { startRepeating, stopRepeating } from '../mcp/repeating-server';
import { type ApiServer, json, startApi, stopServers } from '../openapi/echo-server';
import { newFolder, removeFolders } from '../tool-host';

const { script, scene } = scenes();
let rig: Rig;
let tokenServer: ApiServer;
let issued = 0;

beforeAll(async () => {
  tokenServer = await startApi();
  tokenServer.answer = ({ body }, response) => {
    const user = new URLSearchParams(body.toString()).get('refresh_token') ?? 'client';
    json(response, 200, { access_token: `planted-${user}-${++issued}`, expires_in: 3_600 });
  };
});

afterAll(async () => {
  stopRepeating();
  await stopServers();
  await removeFolders();
});

test('[A217] [A218] a thread uses OAuth for its model and, as its user, for an MCP server; its history has no token, and the store none in plain text', async () => {
  const server = await startRepeating();
  const folder = join(await newFolder(), 'tokens');
  const store = folderTokenStore({ folder, keys: keysFromText(Buffer.alloc(32, 1).toString('base64')) });
  const client: TokenGrant = { tokenUrl: `${tokenServer.url}/token`, clientId: 'longhaul', clientSecret: 'planted-secret' };
  const tools = mcpTools({
    servers: {
      mail: {
        url: server.url,
        user: ({ threadId }) => threadId,
        credentials: ({ user }) => ({ ...client, refreshToken: user, storage: { store, connector: 'mail', user } }),
      },
    },
  });
  rig = await startRig({
    script,
    agents: [defineAgent({ name: 'clerk', model: 'openai/any', instructions: 'Work.', tools: [tools] })],
    workers: 0,
  });
  const credentials = oauth({ ...client, storage: { store, connector: 'models' } });
  await rig.addWorker({ models: defaultModels({ openai: { baseUrl: rig.model.url, credentials } }) });

  const leak = () => callTools([{ name: 'mail__leak', args: {} }]);
  // From the second call on, the server refuses every token, and repeats it.
  server.refuses = () => server.answered > 0;
  const thread = await rig.client.start('clerk', scene([leak(), leak(), say('done')]), { id: `oauth-${randomUUID()}` });
  expect((await thread.result()).output).toBe('done');

  expect(server.tokens.length).toBeGreaterThan(1);
  expect(server.tokens.every((token) => token.startsWith(`planted-${thread.id}-`))).toBe(true);
  expect(new Set(rig.model.requests.map(({ headers }) => headers.authorization))).toEqual(
    new Set([expect.stringMatching(/^Bearer planted-client-\d+$/)]),
  );
  const history = await rig.client.temporal.workflow.getHandle(thread.id).fetchHistory();
  const bytes = Buffer.from(temporal.api.history.v1.History.encode(history).finish());
  expect(bytes.includes('you sent [credential]')).toBe(true);
  expect(bytes.includes("refused the worker's credentials (401)")).toBe(true);
  expect(bytes.includes('planted')).toBe(false);
  const files = (await readdir(folder)).filter((name) => !name.endsWith('.locks'));
  expect(files).toHaveLength(2);
  for (const file of files) expect(await readFile(join(folder, file), 'latin1')).not.toContain('planted');
});
