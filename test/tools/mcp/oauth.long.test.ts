import { bounds } from '../../../src/core/bounds';
import { createToolbox } from '../../../src/tools';
import type { McpUrl } from '../../../src/tools/mcp/options';
import type { TokenGrant } from '../../../src/tools/oauth/grant';
import { type ApiServer, json, startApi, stopServers } from '../openapi/echo-server';
import { callOf, hostWith } from '../tool-host';
import { endHosts, mcpHost } from './mcp-host';
import { startRepeating, stopRepeating } from './repeating-server';

let oauth: ApiServer;
let issued = 0;
beforeAll(async () => {
  oauth = await startApi();
});
beforeEach(() => {
  oauth.received = [];
  giveTokens();
});
afterEach(async () => {
  await endHosts();
  stopRepeating();
});
afterAll(stopServers);

/** Each token names the user who authorized it by the refresh token. */
function giveTokens(more: object = {}) {
  oauth.answer = ({ body }, response) => {
    const user = new URLSearchParams(body.toString()).get('refresh_token') ?? 'client';
    json(response, 200, { access_token: `planted-${user}-${++issued}-secret`, expires_in: 3_600, ...more });
  };
}

let clients = 0;
const grant = (more: Partial<TokenGrant> = {}): TokenGrant => ({
  tokenUrl: `${oauth.url}/token`,
  clientId: `client-${++clients}`,
  clientSecret: 'planted-client-secret',
  ...more,
});

describe('an MCP server with OAuth', () => {
  test.each<[string, (given: TokenGrant) => McpUrl['credentials']]>([
    ['as it is', (given) => given],
    ['from a function', (given) => () => given],
  ])('gets the access token of a grant that is given %s, which no result repeats', async (_, credentialsOf) => {
    const server = await startRepeating();
    const { told, warnings } = mcpHost({ web: { url: server.url, credentials: credentialsOf(grant())! } });
    await told('web__leak');
    expect(await told('web__leak')).toBe('you sent [credential]');
    expect(oauth.received).toHaveLength(1);
    expect(server.tokens).toEqual([expect.stringMatching(/^planted-client-\d+-secret$/)]);
    expect(warnings).toEqual([]);
  });

  test('a token that is about to expire is replaced before the next request', async () => {
    const server = await startRepeating();
    // Half of its life is over after half a second.
    giveTokens({ expires_in: 1 });
    const { told } = mcpHost({ web: { url: server.url, credentials: grant() } });
    const [first] = await told('web__leak').then(() => server.tokens);
    const deadline = Date.now() + 20_000;
    while (server.tokens.at(-1) === first) {
      if (Date.now() > deadline) throw new Error('the token was not replaced within 20 s');
      expect(await told('web__leak')).toBe('you sent [credential]');
    }
    expect(server.tokens.every((token) => token.startsWith('planted-'))).toBe(true);
  });

  test('concurrent calls whose token is refused share one new token', async () => {
    const server = await startRepeating();
    const { told } = mcpHost({ web: { url: server.url, credentials: grant() } });
    await told('web__leak');
    const [old] = server.tokens;
    server.refuses = (token) => token === old;
    expect(await Promise.all([told('web__leak'), told('web__leak'), told('web__leak')])).toEqual(Array(3).fill('you sent [credential]'));
    expect(oauth.received).toHaveLength(2);
  });

  test.each<[string, (given: TokenGrant) => McpUrl['credentials']]>([
    ['a grant', (given) => given],
    ['a function that returns a grant', (given) => () => given],
  ])(
    'a server that refuses every token of %s: the call fails, and tokens are renewed once, also by later calls',
    async (_, credentialsOf) => {
      const server = await startRepeating();
      const { told, call } = mcpHost({ web: { url: server.url, credentials: credentialsOf(grant())! } });
      await told('web__leak');
      server.refuses = () => true;
      const { outcome } = await call('web__leak');
      expect(outcome).toMatchObject({ status: 'failed' });
      const text = JSON.stringify(outcome);
      expect(text).toContain("The MCP server 'web' refused the worker's credentials (401), also after they were renewed");
      expect(text).not.toContain('planted-');
      for (let at = 0; at < 5; at++) expect((await call('web__leak')).outcome.status).toBe('failed');
      expect(oauth.received).toHaveLength(2);
      server.refuses = () => false;
      expect(await told('web__leak')).toBe('you sent [credential]');
    },
  );

  test('a server that refuses all headers of a function: it is asked for others once, also by later calls', async () => {
    const server = await startRepeating();
    const constant = { authorization: 'Bearer planted-constant-secret' };
    let asked = 0;
    const credentials = () => {
      asked += 1;
      return constant;
    };
    const { told, call } = mcpHost({ web: { url: server.url, credentials } });
    await told('web__leak');
    server.refuses = () => true;
    await Promise.all([call('web__leak'), call('web__leak'), call('web__leak')]);
    const before = server.requests;
    for (let at = 0; at < 5; at++) {
      expect(JSON.stringify((await call('web__leak')).outcome)).not.toContain('planted-');
    }
    expect(asked).toBe(2);
    expect(server.requests - before).toBe(5);
  });

  test.each([
    ['refuses the token', [404, 401, 401], "refused the worker's credentials (401), also after they were renewed: "],
    ['forgets that one, too', [404, 404], 'was lost during the call'],
    ['fails', [404, 500], 'was lost during the call'],
  ])('a server that forgets its session, and then %s: no error repeats the token', async (_, statuses, words) => {
    const server = await startRepeating();
    const { told, call } = mcpHost({ web: { url: server.url, credentials: grant(), rules: { leak: { effect: 'once' } } } });
    await told('web__leak');
    const left = [...statuses];
    server.failsWith = () => left.shift();
    const text = JSON.stringify((await call('web__leak')).outcome);
    expect(left).toEqual([]);
    expect(text).toContain(words);
    expect(text).toContain('[credential]');
    expect(text).not.toContain('planted-');
  });

  test('an OAuth server that gives no token: the call was not sent, and says why without secrets', async () => {
    const server = await startRepeating();
    const { told, call } = mcpHost({ web: { url: server.url, credentials: grant({ secretIn: 'body' }) } });
    await told('web__leak');
    const [old] = server.tokens;
    server.refuses = (token) => token === old;
    oauth.answer = ({ body }, response) => json(response, 400, { error: 'invalid_client', error_description: body.toString() });
    const text = JSON.stringify((await call('web__leak')).outcome);
    expect(text).toContain("There are no credentials for the MCP server 'web', so the call was not sent: The OAuth server ");
    expect(text).toContain('gave no token: status 400 (invalid_client).');
    expect(text).not.toContain('planted-');
    giveTokens();
    expect(await told('web__leak')).toBe('you sent [credential]');
  });

  test('the first connection fails with the same words, and the model gets a tool that tries again', async () => {
    const server = await startRepeating();
    oauth.answer = (_, response) => json(response, 400, { error: 'invalid_client' });
    const { names, told, warnings } = mcpHost({ web: { url: server.url, credentials: grant() } });
    expect(await names()).toEqual(['web__connect']);
    expect(warnings).toEqual([expect.stringContaining('gave no token: status 400 (invalid_client)')]);
    expect(server.requests).toBe(0);
    giveTokens();
    expect(await told('web__connect')).toContain('is connected');
  });
});

describe('an MCP server with users', () => {
  const user = ({ threadId }: { threadId: string }) => (threadId.startsWith('user-') ? threadId : undefined);
  const perUser = () => {
    const shared = grant();
    return ({ user: name }: { user: string }) => ({ ...shared, refreshToken: name });
  };
  const toolsOf = async (host: ReturnType<typeof mcpHost>, threadId: string, calling = 'web__leak') =>
    createToolbox(await host.provider.tools({ threadId, calling }));
  const call = async (host: ReturnType<typeof mcpHost>, threadId: string) =>
    (await (await toolsOf(host, threadId)).execute(callOf('web__leak', {}), hostWith({}))).outcome.content;

  test('each user has a connection and a token of their own', async () => {
    const server = await startRepeating();
    const host = mcpHost({ web: { url: server.url, user, credentials: perUser() } });
    for (const name of ['user-ann', 'user-bob', 'user-ann']) {
      expect(await call(host, name)).toBe('you sent [credential]');
      expect(server.tokens.at(-1)).toContain(`planted-${name}-`);
    }
    expect(oauth.received).toHaveLength(2);
  });

  test('a thread without a user has no tools of the server, and its calls are not sent', async () => {
    const server = await startRepeating();
    const host = mcpHost({ web: { url: server.url, user, credentials: perUser() } });
    expect(await host.names()).toEqual([]);
    expect(await call(host, 'thread-1')).toContain("The MCP server 'web' has no user for this thread. The call was not carried out.");
    expect([server.requests, oauth.received]).toEqual([0, []]);
  });

  test('a function that throws leaves the tools out, and is reported once, without its message', async () => {
    const server = await startRepeating();
    const failing = () => {
      throw new RangeError('planted-in-a-message');
    };
    const { names, warnings } = mcpHost({ web: { url: server.url, user: failing, credentials: perUser() } });
    expect([await names(), await names()]).toEqual([[], []]);
    expect(warnings).toEqual(["The tools of the MCP server 'web' are left out: its function user threw RangeError."]);
  });

  test('more users than connections may stay open: the oldest is forgotten, and no call of it fails', async () => {
    const server = await startRepeating();
    const host = mcpHost({ web: { url: server.url, user, credentials: perUser() } });
    const held = await toolsOf(host, 'user-0');
    const others = Array.from({ length: bounds.mcpUsers }, (_, at) => `user-${at + 1}`);
    expect(new Set(await Promise.all(others.map((name) => call(host, name))))).toEqual(new Set(['you sent [credential]']));
    expect((await held.execute(callOf('web__leak', {}), hostWith({}))).outcome.content).toBe('you sent [credential]');
    expect(await call(host, 'user-0')).toBe('you sent [credential]');
    const lists = (name: string) => server.listed.filter((token) => token.startsWith(`planted-${name}-`)).length;
    expect([lists('user-0'), lists(others.at(-1) ?? '')]).toEqual([2, 1]);
  });

  test('options that contradict each other are refused', () => {
    expect(() => mcpHost({ web: { url: 'https://mcp.example.com', user, credentials: grant() } })).toThrow('credentials: give a function');
    expect(() => mcpHost({ web: { url: 'https://mcp.example.com', user: 'ann' as never } })).toThrow('user: give a function');
  });
});
