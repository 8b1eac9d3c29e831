import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { textOf } from '../../src/core/message';
import { anthropic } from '../../src/models/anthropic/client';
import { google } from '../../src/models/google/client';
import type { ModelFailure, ModelProvider } from '../../src/models/model';
import { openAi } from '../../src/models/openai/client';
import { openAiResponses } from '../../src/models/openai-responses/client';
import type { ModelCredentials } from '../../src/models/wire/access';
import type { TokenGrant } from '../../src/tools/oauth/grant';
import { oauth } from '../../src/tools/oauth/oauth';
import { said, streams } from '../support/vendor-streams';
import { type ApiServer, json, startApi, stopServers } from '../tools/openapi/echo-server';

type Name = 'openai' | 'openai-responses' | 'anthropic' | 'google';
type Options = { baseUrl?: string; credentials?: ModelCredentials; apiKey?: string; headers?: Record<string, string> };

const makers: Record<Name, (options: Options) => ModelProvider> = {
  openai: (options) => openAi({ ...options, ...(options.baseUrl && { baseUrl: `${options.baseUrl}/v1` }) }),
  'openai-responses': (options) => openAiResponses({ ...options, ...(options.baseUrl && { baseUrl: `${options.baseUrl}/v1` }) }),
  anthropic,
  google,
};
const names = Object.keys(makers) as Name[];

/** A provider's server: which headers it got, and which tokens it refuses, repeating them. */
let url: string;
let server: Server;
let received: IncomingHttpHeaders[];
let refuses: (authorization: string) => boolean;
let name: Name;
let tokenServer: ApiServer;
let issued = 0;

beforeAll(async () => {
  tokenServer = await startApi();
  server = createServer((request, response) => {
    received.push(request.headers);
    const authorization = request.headers.authorization ?? 'none';
    request.resume().once('end', () => {
      if (refuses(authorization))
        return json(response, 401, { error: { message: `wrong: ${authorization.slice('Bearer '.length)}`, code: 401 } });
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const event of streams[name](1, true)) {
        const type = (event as { type?: string }).type;
        response.write(`${type ? `event: ${type}\n` : ''}data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`);
      }
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  received = [];
  refuses = () => false;
  tokenServer.received = [];
  tokenServer.answer = (_, response) => json(response, 200, { access_token: `planted-token-${++issued}`, expires_in: 3_600 });
});
afterAll(async () => {
  server.close().closeAllConnections();
  await stopServers();
});

let clients = 0;
const grant = (more: Partial<TokenGrant> = {}): TokenGrant => ({
  tokenUrl: `${tokenServer.url}/token`,
  clientId: `client-${++clients}`,
  clientSecret: 'planted-client-secret',
  ...more,
});

function ask(provider: ModelProvider, signal = new AbortController().signal) {
  const messages = [{ id: 'u', role: 'user' as const, content: 'hi' }];
  return provider.call({ model: 'any', instructions: 'Be brief.', messages, tools: [], settings: {} }, { signal });
}

async function failureOf(provider: ModelProvider): Promise<ModelFailure> {
  const failure = await ask(provider).then(
    () => undefined,
    (error: ModelFailure) => error,
  );
  expect(failure?.name).toBe('ModelFailure');
  expect(`${failure?.message} ${JSON.stringify(failure)} ${failure?.stack}`).not.toContain('planted');
  return failure as ModelFailure;
}

describe.each(names)('[A218] a model provider with OAuth: %s', (provider) => {
  beforeEach(() => {
    name = provider;
  });
  const withCredentials = (credentials: ModelCredentials, more: Options = {}) => makers[provider]({ baseUrl: url, credentials, ...more });

  test('sends the access token of a grant instead of a key, and shares it between calls', async () => {
    const headers = { 'x-team': 't', authorization: 'Bearer planted-other' };
    const made = withCredentials(oauth(grant()), { apiKey: 'planted-key', headers });
    const answers = await Promise.all([ask(made), ask(made)]);
    expect(answers.map(({ parts }) => textOf(parts))).toEqual([said(1), said(1)]);
    expect(tokenServer.received).toHaveLength(1);
    for (const got of received) {
      expect(got).toMatchObject({ authorization: `Bearer planted-token-${issued}`, 'x-team': 't' });
      expect(JSON.stringify(got)).not.toMatch(/planted-(?:key|other)|no-key|no-token/);
      expect(Object.keys(got)).not.toEqual(expect.arrayContaining([expect.stringMatching(/api-key/)]));
    }
  });

  test('replaces a token that is refused, once, and the call succeeds', async () => {
    const made = withCredentials(oauth(grant()));
    await ask(made);
    const old = received[0]?.authorization;
    refuses = (authorization) => authorization === old;
    expect(textOf((await ask(made)).parts)).toBe(said(1));
    expect([received.length, tokenServer.received.length]).toEqual([3, 2]);
  });

  test('fails with auth if the new token is refused, too; later calls ask for no more tokens', async () => {
    const made = withCredentials(oauth(grant()));
    refuses = () => true;
    expect(await failureOf(made)).toMatchObject({
      kind: 'auth',
      message: expect.stringMatching(/refused the access token \(401.*Check the provider's credentials\.$/s),
    });
    expect([received.length, tokenServer.received.length]).toEqual([2, 2]);
    await failureOf(made);
    expect([received.length, tokenServer.received.length]).toEqual([3, 2]);
  });

  test('takes a token from a function for each call, and asks it again after a 401', async () => {
    const asked: boolean[] = [];
    const made = withCredentials(async ({ refresh }) => {
      asked.push(refresh);
      return `planted-own-${asked.length}`;
    });
    await ask(made);
    refuses = (authorization) => authorization === 'Bearer planted-own-2';
    await ask(made);
    expect(asked).toEqual([false, false, true]);
    refuses = () => true;
    expect((await failureOf(made)).kind).toBe('auth');
    expect(asked).toHaveLength(5);
  });

  test('needs no key at the own address of the vendor', async () => {
    const made = makers[provider]({ credentials: () => Promise.reject(new RangeError('planted')) });
    expect(await failureOf(made)).toMatchObject({
      kind: 'connection',
      message: expect.stringMatching(/^There is no access token for \S+: its credentials function threw RangeError\.$/),
    });
  });
});

describe('[A218] a model provider whose credentials fail', () => {
  beforeEach(() => {
    name = 'openai';
  });

  test.each([
    ['auth', 400, 'status 400 (invalid_client)'],
    ['connection', 503, 'status 503'],
  ])('fails with %s if the OAuth server answers with %d, and sends no request', async (kind, status, words) => {
    tokenServer.answer = ({ body }, response) =>
      json(response, status, { ...(status === 400 && { error: 'invalid_client' }), error_description: body.toString() });
    const failure = await failureOf(openAi({ baseUrl: url, credentials: oauth(grant({ secretIn: 'body' })) }));
    expect(failure).toMatchObject({ kind, message: expect.stringContaining(`gave no token: ${words}`) });
    expect(received).toEqual([]);
  });

  test('fails with auth if a function returns what can not be sent', async () => {
    for (const token of ['', 'planted\n', undefined as never]) {
      expect(await failureOf(openAi({ baseUrl: url, credentials: () => token }))).toMatchObject({ kind: 'auth' });
    }
    expect(received).toEqual([]);
  });

  test('ends a call that waits for a token when it is aborted, and when its time is over', async () => {
    const stop = new AbortController();
    const waiting = new Promise<string>(() => undefined);
    let asked = () => {};
    const begun = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const credentials = () => {
      asked();
      return waiting;
    };
    const call = ask(openAi({ baseUrl: url, credentials }), stop.signal);
    await begun;
    stop.abort(new Error('stopped'));
    await expect(call).rejects.toThrow('stopped');
    const late = await failureOf(openAi({ baseUrl: url, credentials, firstByteTimeoutMs: 50 }));
    expect(late.kind).toBe('timeout');
  });
});
