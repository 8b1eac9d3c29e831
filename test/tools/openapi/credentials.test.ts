import { createHash } from 'node:crypto';
import { beginAuthorization, finishAuthorization } from '../../../src/tools/oauth/authorization';
import type { TokenGrant } from '../../../src/tools/oauth/grant';
import { TokenCache } from '../../../src/tools/oauth/token-cache';
import type { Credential, CredentialRequest } from '../../../src/tools/openapi/credentials';
import { type OpenApiOptions, openApiTools } from '../../../src/tools/openapi/openapi-tools';
import { run, told } from '../tool-host';
import { type ApiServer, json, startApi, stopServers } from './echo-server';

let api: ApiServer;
let oauth: ApiServer;
beforeAll(async () => {
  api = await startApi();
  oauth = await startApi();
});
beforeEach(() => {
  api.received = [];
  api.answer = (_, response) => json(response, 200, {});
  oauth.received = [];
});
afterAll(stopServers);

const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer' },
  basic: { type: 'http', scheme: 'basic' },
  digestLike: { type: 'http', scheme: 'Token' },
  header: { type: 'apiKey', in: 'header', name: 'X-Key' },
  query: { type: 'apiKey', in: 'query', name: 'api key' },
  cookie: { type: 'apiKey', in: 'cookie', name: 'session' },
  oauth: { type: 'oauth2', flows: {} },
  tls: { type: 'mutualTLS' },
};

async function toolsOf(security: unknown, options: Omit<Partial<OpenApiOptions>, 'document'> = {}) {
  const paths = { '/a': { get: { operationId: 'a', security } } };
  const tools = await openApiTools({
    document: { openapi: '3.0.0', servers: [{ url: api.url }], components: { securitySchemes }, paths },
    ...options,
  });
  return tools.list();
}

const secret = 'S3cr3t/+value&x';

describe('[A168] credentials', () => {
  test.each<[string, Credential, object]>([
    ['bearer', secret, { headers: { authorization: `Bearer ${secret}` } }],
    ['digestLike', secret, { headers: { authorization: `Token ${secret}` } }],
    [
      'basic',
      { username: 'u', password: secret },
      { headers: { authorization: `Basic ${Buffer.from(`u:${secret}`).toString('base64')}` } },
    ],
    ['header', secret, { headers: { 'x-key': secret } }],
    ['query', secret, { url: '/a?api+key=S3cr3t%2F%2Bvalue%26x' }],
    ['cookie', secret, { headers: { cookie: 'session=S3cr3t%2F%2Bvalue%26x' } }],
    ['oauth', secret, { headers: { authorization: `Bearer ${secret}` } }],
  ])('of the scheme %s are sent', async (scheme, credential, expected) => {
    for (const credentials of [() => credential, async () => credential]) {
      const [tool] = await toolsOf([{ [scheme]: [] }], { credentials });
      await run(tool!, {});
      expect(api.received.at(-1)).toMatchObject(expected);
    }
  });

  test('[A169] the function is asked for each request, with the thread and what the credential is for', async () => {
    const asked: CredentialRequest[] = [];
    const credentials = (request: CredentialRequest) => {
      asked.push(request);
      return `${request.threadId}-token`;
    };
    const [operation, generic] = await toolsOf([{ oauth: ['read'] }], { credentials, genericTool: true });
    await run(operation!, {}, { threadId: 't1', runId: 'r1' });
    await run(operation!, {}, { threadId: 't2', runId: 'r1' });
    await run(generic!, { method: 'GET', path: '/b' }, { threadId: 't3' });
    expect(api.received.map(({ headers }) => headers.authorization)).toEqual(['Bearer t1-token', 'Bearer t2-token', 'Bearer t3-token']);
    const about = { scheme: 'oauth', type: 'oauth2', scopes: ['read'], server: api.url, runId: 'r1' };
    expect(asked).toEqual([
      { ...about, threadId: 't1', operation: 'a' },
      { ...about, threadId: 't2', operation: 'a' },
      { ...about, runId: 'run-1', threadId: 't3' },
    ]);
  });

  test('the first alternative for which there are all credentials is used, and all of its schemes are sent', async () => {
    const credentials = ({ scheme }: CredentialRequest) => (scheme === 'basic' ? undefined : secret);
    const [tool] = await toolsOf([{ header: [], basic: [] }, { tls: [] }, { header: [], query: [] }, { bearer: [] }], { credentials });
    await run(tool!, {});
    expect(api.received[0]).toMatchObject({ url: expect.stringContaining('api+key='), headers: { 'x-key': secret } });
    expect(api.received[0]?.headers).not.toHaveProperty('authorization');
  });

  test('without a credential, nothing is sent, unless the document allows requests without', async () => {
    const credentials = () => undefined;
    const [tool] = await toolsOf([{ bearer: [] }], { credentials });
    expect(await told(tool!, {})).toBe('Error: the operation needs credentials (bearer), and the worker has none for this thread.');
    expect(api.received).toEqual([]);
    const [free] = await toolsOf([{ bearer: [] }, {}], { credentials });
    expect(await told(free!, {})).toBe('{}');
  });

  test('auth replaces what the document says, also where it says nothing', async () => {
    const [tool] = await toolsOf(undefined, { auth: { type: 'apiKey', in: 'header', name: 'X-Own' }, credentials: () => secret });
    await run(tool!, {});
    expect(api.received[0]?.headers['x-own']).toBe(secret);
  });
});

describe('[A170] secrets do not appear in results and errors', () => {
  const said = async (credentials: OpenApiOptions['credentials'], scheme = 'bearer') => {
    const [tool] = await toolsOf([{ [scheme]: [] }], { ...(credentials && { credentials }) });
    return JSON.stringify(await run(tool!, {}));
  };

  test('a service that repeats what it was sent, in several forms', async () => {
    for (const status of [200, 400, 503]) {
      api.answer = ({ headers, url }, response) => {
        const token = String(headers.authorization ?? '');
        response.writeHead(status, { 'content-type': 'application/json', location: `/x?${url}&t=${encodeURIComponent(token.slice(7))}` });
        response.end(JSON.stringify({ token, url, text: `in "${token}"`, encoded: encodeURIComponent(token) }));
      };
      for (const scheme of ['bearer', 'query']) {
        const text = await said(() => secret, scheme);
        expect(text).toContain('[credential]');
        for (const form of [secret, encodeURIComponent(secret), 'S3cr3t']) expect(text).not.toContain(form);
      }
      const basic = await said(() => ({ username: 'u', password: secret }), 'basic');
      expect(basic).not.toContain(Buffer.from(`u:${secret}`).toString('base64'));
    }
  });

  test.each([
    ['\\/', '/', '\\/'],
    ['\\u002B', '+', '\\u002B'],
    ['\\u003d', '=', '\\u003d'],
    ['\\\\/ in a text that is JSON', '/', '\\\\\\/'],
    ['HTML', '+', '&#x2B;'],
  ])('a service that escapes %s', async (_, char, escaped) => {
    const key = 'S3cr3t/+value=x9876543210';
    for (const status of [200, 400]) {
      api.answer = (_, response) => response.writeHead(status).end(JSON.stringify({ sent: `Bearer ${key}` }).replaceAll(char, escaped));
      const text = await said(() => key);
      expect(text).toContain('[credential]');
      expect(text).not.toContain('S3cr3t');
    }
  });

  test.each([200, 400])('an answer of status %s that is cut within a secret, after others', async (status) => {
    const key = 'S3cr3t/+value=x9876543210';
    const most = status === 200 ? 1_048_576 : 64_000;
    for (const before of [1, key.length - 1, key.length + 1, 12 * key.length + 1]) {
      const text = `${key.repeat(20)}${'x'.repeat(most - 20 * key.length - before)}${key}`;
      api.answer = (_, response) => response.writeHead(status, { 'content-type': 'text/plain' }).end(text + 'y'.repeat(1_000));
      expect(await said(() => key)).not.toContain('S3cr');
    }
    api.answer = (_, response) => response.writeHead(status).end(`${'x'.repeat(most + 12 * key.length - 20)}${key}`);
    expect(await said(() => key)).not.toContain('S3cr');
  });

  test('a connection that fails, a credential that can not be sent, and a function that throws', async () => {
    api.answer = (_, response) => response.destroy();
    expect(await said(() => secret, 'query')).not.toContain('S3cr3t');
    const unsendable = await said(() => `${secret}\nx`, 'header');
    expect(unsendable).toContain("the value for the header 'X-Key' has characters");
    expect(unsendable).not.toContain('S3cr3t');
    const thrown = await said(() => {
      throw new RangeError(`no entry for ${secret}`);
    });
    expect(thrown).toContain("threw RangeError for the scheme 'bearer'");
    expect(thrown).not.toContain('S3cr3t');
  });
});

describe('[A217] OAuth tokens', () => {
  const grant = (more: Partial<TokenGrant> = {}): TokenGrant => ({
    tokenUrl: `${oauth.url}/token`,
    clientId: 'id',
    clientSecret: secret,
    ...more,
  });
  const { signal } = new AbortController();
  let count = 0;
  const giveTokens = (more: object = {}) => {
    oauth.answer = (_, response) =>
      json(response, 200, { access_token: `access-${++count}`, token_type: 'bearer', expires_in: 3_600, ...more });
  };
  const field = (at: number, name: string) => new URLSearchParams(oauth.received[at]?.body.toString()).get(name);

  test('client credentials: one request for concurrent calls, sent in the header or in the body', async () => {
    giveTokens();
    const cache = new TokenCache();
    const wanted = grant({ scopes: ['a', 'b'] });
    const found = await Promise.all([cache.get(wanted, signal), cache.get({ ...wanted }, signal), cache.get(wanted, signal)]);
    expect(new Set(found).size).toBe(1);
    expect(oauth.received).toHaveLength(1);
    expect(oauth.received[0]?.headers.authorization).toBe(`Basic ${Buffer.from(`id:${encodeURIComponent(secret)}`).toString('base64')}`);
    expect([field(0, 'grant_type'), field(0, 'scope'), field(0, 'client_secret')]).toEqual(['client_credentials', 'a b', null]);
    await cache.get(grant({ secretIn: 'body' }), signal);
    expect([field(1, 'client_id'), field(1, 'client_secret')]).toEqual(['id', secret]);
  });

  test('each user has a token of its own', async () => {
    giveTokens();
    const cache = new TokenCache();
    const [a, b] = await Promise.all(['u1', 'u2'].map((refreshToken) => cache.get(grant({ refreshToken }), signal)));
    expect(a).not.toBe(b);
    expect(await cache.get(grant({ refreshToken: 'u1' }), signal)).toBe(a);
    expect(oauth.received).toHaveLength(2);
  });

  test('a token is renewed 300 s before it expires, and a refresh token that was replaced is not used again', async () => {
    let now = 0;
    giveTokens({ refresh_token: 'second' });
    const stored: unknown[] = [];
    const cache = new TokenCache(() => now);
    const wanted = grant({ refreshToken: 'first', onTokens: (tokens) => void stored.push(tokens.refreshToken) });
    const first = await cache.get(wanted, signal);
    now = 3_299_000;
    expect(await cache.get(wanted, signal)).toBe(first);
    now = 3_301_000;
    expect(await cache.get(wanted, signal)).not.toBe(first);
    expect([field(0, 'refresh_token'), field(1, 'refresh_token')]).toEqual(['first', 'second']);
    expect(stored).toEqual(['second', 'second']);
  });

  test('a failure is not kept, and its message has no secrets', async () => {
    oauth.answer = ({ body }, response) => json(response, 400, { error: 'invalid_client', error_description: body.toString() });
    const cache = new TokenCache();
    const failure = cache.get(grant({ secretIn: 'body' }), signal);
    await expect(failure).rejects.toThrow(`The OAuth server ${new URL(oauth.url).host} gave no token: status 400 (invalid_client).`);
    giveTokens();
    expect(await cache.get(grant({ secretIn: 'body' }), signal)).toMatch(/^access-/);
  });

  test('a call with a token that the service rejects gets a new one, once', async () => {
    giveTokens();
    const clientId = 'rejected';
    const used: unknown[] = [];
    api.answer = ({ headers }, response) => {
      used.push(headers.authorization);
      json(response, used.length === 1 ? 401 : 200, { used });
    };
    const [tool] = await toolsOf([{ oauth: [] }], { credentials: () => grant({ clientId }) });
    const said = await told(tool!, {});
    expect(JSON.parse(said)).toEqual({ used: ['Bearer [credential]', 'Bearer [credential]'] });
    expect(new Set(used).size).toBe(2);
    // It refuses every token, and repeats all that it got.
    api.answer = ({ headers }, response) => {
      used.push(headers.authorization);
      json(response, 401, { used });
    };
    const before = oauth.received.length;
    for (let at = 0; at < 3; at++) {
      const text = await told(tool!, {});
      expect(text).toContain('failed with status 401');
      expect(text).not.toContain(String(used.at(-1)).slice('Bearer '.length));
    }
    expect(oauth.received.length - before).toBe(0);
    expect(used).toHaveLength(5);
  });

  test('an authorization with PKCE: the challenge belongs to the verifier, and a wrong state is refused', async () => {
    const client = { clientId: 'id', redirectUri: 'https://app.example.com/back' };
    const begun = beginAuthorization({ ...client, authorizationUrl: 'https://id.example.com/authorize?x=1', scopes: ['read'] });
    const { searchParams } = new URL(begun.url);
    expect(Object.fromEntries(searchParams)).toMatchObject({
      x: '1',
      response_type: 'code',
      client_id: 'id',
      scope: 'read',
      code_challenge_method: 'S256',
      state: begun.state,
    });
    expect(searchParams.get('code_challenge')).toBe(createHash('sha256').update(begun.codeVerifier).digest('base64url'));
    giveTokens({ refresh_token: 'r' });
    const finish = (returnedUrl: string) => finishAuthorization({ ...client, ...begun, tokenUrl: `${oauth.url}/token`, returnedUrl });
    await expect(finish(`${client.redirectUri}?code=c&state=forged`)).rejects.toThrow('its state is not the one');
    await expect(finish(`${client.redirectUri}?error=access_denied&state=${begun.state}`)).rejects.toThrow('not given (access_denied)');
    expect(oauth.received).toEqual([]);
    expect(await finish(`${client.redirectUri}?code=c&state=${begun.state}`)).toMatchObject({
      refreshToken: 'r',
      expiresAt: expect.any(Number),
    });
    expect([field(0, 'code'), field(0, 'code_verifier'), field(0, 'client_id')]).toEqual(['c', begun.codeVerifier, 'id']);
  });
});
