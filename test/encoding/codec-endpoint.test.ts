import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import type { PayloadCodec } from '@temporalio/common';
import { resolveTemporal } from '../../scripts/temporal.js';
import { defineAgent } from '../../src/agents';
import { type CodecEndpointOptions, codecEndpoint } from '../../src/encoding/codec-endpoint';
import { payloadCodecs } from '../../src/encoding/encoding';
import { say } from '../../src/testing/model-server';
import { startRig } from '../support/rig';
import { scenes } from '../workflows/scenes';
import { keys, newKey } from './keys';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const plain = { metadata: { encoding: base64('json/plain') }, data: base64('"a secret"') };
const ui = 'http://localhost:8233';
const encoding = { keys: keys(newKey()) };

const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close();
});

async function serve(options: Partial<CodecEndpointOptions> = {}): Promise<string> {
  const server = createServer(codecEndpoint({ codecs: payloadCodecs(encoding), origins: [ui], ...options }));
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function post(url: string, body: unknown, headers: Record<string, string> = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(url, { method: 'POST', body: text, headers: { 'content-type': 'application/json', ...headers } });
  return { status: response.status, headers: response.headers, body: (await response.json()) as any };
}

test('payloads are encoded and decoded as in Temporal’s protocol', async () => {
  const url = await serve();
  const encoded = await post(`${url}/encode`, { payloads: [plain, plain] });
  expect(encoded.status).toBe(200);
  expect(encoded.body.payloads).toHaveLength(2);
  expect(encoded.body.payloads[0].metadata.encoding).toBe(base64('binary/encrypted'));
  const decoded = await post(`${url}/decode`, encoded.body);
  expect(decoded.body).toEqual({ payloads: [plain, plain] });
});

test('one payload whose key is missing does not hide the others, and if all are, the error names the key', async () => {
  const [url, other] = [await serve(), await serve({ codecs: payloadCodecs({ keys: keys(newKey()) }) })];
  const [mine, foreign] = [await post(`${url}/encode`, { payloads: [plain] }), await post(`${other}/encode`, { payloads: [plain] })];
  const both = [...foreign.body.payloads, ...mine.body.payloads];
  expect((await post(`${url}/decode`, { payloads: both })).body.payloads).toEqual([...foreign.body.payloads, plain]);
  expect(await post(`${url}/decode`, foreign.body)).toMatchObject({ status: 400, body: { message: /is encrypted with key "\w+"/ } });
});

test('only the pages of the given Web UI may use it', async () => {
  const url = await serve();
  const allowed = await post(`${url}/decode`, { payloads: [plain] }, { origin: ui });
  expect(allowed.status).toBe(200);
  expect(allowed.headers.get('access-control-allow-origin')).toBe(ui);
  const preflight = await fetch(`${url}/decode`, { method: 'OPTIONS', headers: { origin: ui, 'access-control-request-method': 'POST' } });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get('access-control-allow-headers')).toContain('x-namespace');
  const foreign = await post(`${url}/decode`, { payloads: [plain] }, { origin: 'http://localhost:9999' });
  expect(foreign).toMatchObject({ status: 403, body: { message: expect.stringContaining('http://localhost:9999') } });
  expect(foreign.headers.get('access-control-allow-origin')).toBeNull();
});

test('with a token, a request without it is refused', async () => {
  const url = await serve({ token: 'secret' });
  for (const headers of [{}, { authorization: 'Bearer wrong' }, { authorization: 'secret' }]) {
    expect((await post(`${url}/decode`, { payloads: [plain] }, headers as Record<string, string>)).status).toBe(401);
  }
  expect((await post(`${url}/decode`, { payloads: [plain] }, { authorization: 'Bearer secret' })).status).toBe(200);
});

test('with namespaces, a request for another one is refused', async () => {
  const url = await serve({ namespaces: ['orders'] });
  expect((await post(`${url}/decode`, { payloads: [plain] })).status).toBe(403);
  expect((await post(`${url}/decode`, { payloads: [plain] }, { 'x-namespace': 'payroll' })).status).toBe(403);
  expect((await post(`${url}/decode`, { payloads: [plain] }, { 'x-namespace': 'orders' })).status).toBe(200);
});

test.each([
  ['text that is not JSON', '{'],
  ['no payloads', {}],
  ['a payload that is null', { payloads: [null] }],
  ['metadata that is not text', { payloads: [{ metadata: { encoding: 1 } }] }],
])('a body with %s is refused with a description of the format', async (_, body) => {
  expect(await post(`${await serve()}/decode`, body)).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining('payloads') },
  });
});

test('payloads that become too large when they are decoded are refused, and the endpoint goes on', async () => {
  const large: PayloadCodec = {
    encode: async (payloads) => payloads,
    decode: async (payloads) => payloads.map(({ metadata }) => ({ ...(metadata && { metadata }), data: Buffer.alloc(30_000_000, 'a') })),
  };
  const url = await serve({ codecs: [large] });
  expect(await post(`${url}/decode`, { payloads: Array(14).fill(plain) })).toMatchObject({
    status: 413,
    body: { message: expect.stringMatching(/more than 134217728 bytes when they are decoded\. Send fewer/) },
  });
  expect((await post(`${url}/decode`, { payloads: [plain] })).status).toBe(200);
});

test('an answer that can not be written as JSON is an error of that request only', async () => {
  const broken: PayloadCodec = {
    // Buffer.from throws for it, as JSON.stringify does for a text that is too long.
    encode: async () => [{ metadata: { encoding: 5 as never } }],
    decode: async (payloads) => payloads,
  };
  const url = await serve({ codecs: [broken] });
  expect((await post(`${url}/encode`, { payloads: [plain] })).status).toBe(500);
  expect((await post(`${url}/decode`, { payloads: [plain] })).status).toBe(200);
});

test('other paths and methods are refused', async () => {
  const url = await serve();
  expect((await post(`${url}/other`, {})).status).toBe(404);
  expect((await fetch(`${url}/decode`)).status).toBe(405);
});

test('a body that never ends is cut off', async () => {
  const url = new URL(await serve());
  const chunk = Buffer.alloc(4 * 1024 * 1024, 32);
  let sent = 0;
  await new Promise<void>((ended) => {
    const upload = httpRequest({ method: 'POST', host: url.hostname, port: url.port, path: '/decode' });
    upload.on('close', ended).on('error', () => undefined);
    const more = (): void => {
      sent += chunk.length;
      if (!upload.destroyed) upload.write(chunk, more);
    };
    more();
  });
  expect(sent).toBeLessThan(300 * 1024 * 1024);
});

test('Temporal’s command line shows an encrypted thread with it, and not without it', async () => {
  const { script, scene } = scenes();
  const agent = defineAgent({ name: 'talker', model: 'test-model', instructions: 'Talk.' });
  const rig = await startRig({ script, agents: [agent], worker: { encoding }, client: { encoding } });
  const thread = await rig.client.start('talker', scene([say('a visible answer')]));
  await thread.result();
  const url = await serve({ token: 'secret', namespaces: ['default'] });
  const show = async (...more: string[]) => {
    const found = await resolveTemporal({ own: true });
    const binary = found.kind === 'binary' ? found.path : 'temporal';
    const options = [
      'workflow',
      'show',
      '--address',
      rig.address,
      '--namespace',
      'default',
      '--workflow-id',
      thread.id,
      '--output',
      'json',
    ];
    const { stdout } = await promisify(execFile)(binary, [...options, ...more], { maxBuffer: 10_000_000 });
    return [...stdout.matchAll(/"data": "(.*?)"/g)].map(([, data = '']) => Buffer.from(data, 'base64').toString()).join('\n');
  };
  const decoded = await show('--codec-endpoint', url, '--codec-auth', 'Bearer secret');
  expect(decoded).toContain('a visible answer');
  const encrypted = await show();
  expect(encrypted).not.toBe('');
  expect(encrypted).not.toContain('visible');
});
