import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type KeyProvider, keysFromText } from '../../../src/encoding/key-provider';
import { beginAuthorization, finishAuthorization } from '../../../src/tools/oauth/authorization';
import { folderTokenStore } from '../../../src/tools/oauth/folder-token-store';
import type { TokenGrant } from '../../../src/tools/oauth/grant';
import { TokenCache } from '../../../src/tools/oauth/token-cache';
import { type StoredTokens, type TokenStore, tokenKey } from '../../../src/tools/oauth/token-store';
import { type ApiServer, json, startApi, stopServers } from '../openapi/echo-server';
import { newFolder, removeFolders } from '../tool-host';

let oauth: ApiServer;
beforeAll(async () => {
  oauth = await startApi();
});
afterAll(async () => {
  await stopServers();
  await removeFolders();
});

/** What the OAuth server has issued. Each refresh token is valid once; using one again revokes those of its user. */
let current: Map<string, string>;
let issued: number;
let lifeSeconds: number;
beforeEach(() => {
  oauth.received = [];
  current = new Map();
  issued = 0;
  lifeSeconds = 3_600;
  oauth.answer = ({ body }, response) => {
    const fields = new URLSearchParams(body.toString());
    const user = fields.get('code') ?? /^planted-refresh-(\w+)-/.exec(fields.get('refresh_token') ?? '')?.[1];
    const isRefresh = fields.get('grant_type') === 'refresh_token';
    if (user && isRefresh && current.get(user) !== fields.get('refresh_token')) {
      current.delete(user);
      return json(response, 400, { error: 'invalid_grant' });
    }
    issued += 1;
    if (user) current.set(user, `planted-refresh-${user}-${issued}`);
    const access_token = `planted-access-${user ?? 'client'}-${issued}`;
    json(response, 200, { access_token, expires_in: lifeSeconds, ...(user && { refresh_token: current.get(user) }) });
  };
});

const newKey = () => randomBytes(32).toString('base64');

async function newStore(keys: KeyProvider = keysFromText(newKey())) {
  const folder = join(await newFolder(), 'tokens');
  return { folder, keys, store: folderTokenStore({ folder, keys }) };
}

const client = () => ({ tokenUrl: `${oauth.url}/token`, clientId: 'id' });
const grantOf = (store: TokenStore, user?: string, more: Partial<TokenGrant> = {}): TokenGrant => ({
  ...client(),
  storage: { store, connector: 'mail', ...(user !== undefined && { user }) },
  ...more,
});

async function authorize(store: TokenStore, user: string) {
  const redirectUri = 'https://app.example.com/back';
  const begun = beginAuthorization({ ...client(), redirectUri, authorizationUrl: 'https://id.example.com/authorize' });
  const returnedUrl = `${redirectUri}?code=${user}&state=${begun.state}`;
  return finishAuthorization({ ...client(), ...begun, redirectUri, returnedUrl, storage: { store, connector: 'mail', user } });
}

const isNoLock = (name: string) => !name.endsWith('.locks');
const filesOf = async (folder: string) => {
  const names = (await readdir(folder)).filter(isNoLock);
  return Promise.all(names.map(async (name) => ({ name, text: await readFile(join(folder, name), 'latin1') })));
};

describe('[A217] stored OAuth tokens', () => {
  test('are encrypted: no file contains a token or the name of a user, and only their owner can read the files', async () => {
    const { folder, store } = await newStore();
    await authorize(store, 'ann');
    expect(await new TokenCache().get(grantOf(store, 'ann'))).toBe('planted-access-ann-1');
    const files = await filesOf(folder);
    expect(files).toHaveLength(1);
    for (const { name, text } of files) {
      for (const planted of ['planted', 'ann', 'mail', 'Token', Buffer.from('planted-access').toString('base64').slice(0, 16)]) {
        expect(name + text).not.toContain(planted);
      }
      expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
    }
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  test('are used by a later process, and renewed 300 s before they expire, with the newest refresh token', async () => {
    const { store } = await newStore();
    // Tokens are issued a little later than this.
    const start = Date.now();
    await authorize(store, 'ann');
    let now = start;
    const token = () => new TokenCache(() => now).get(grantOf(store, 'ann'));
    expect(await token()).toBe('planted-access-ann-1');
    now = start + 3_299_000;
    expect(await token()).toBe('planted-access-ann-1');
    now = start + 3_400_000;
    expect(await token()).toBe('planted-access-ann-2');
    now += 3_302_000;
    expect(await token()).toBe('planted-access-ann-3');
    expect((await store.get(tokenKey({ connector: 'mail', user: 'ann' })))?.refreshToken).toBe(current.get('ann'));
  });

  test('of each user are apart, also if one file is put in the place of another', async () => {
    const { folder, store } = await newStore();
    await authorize(store, 'ann');
    const [annFile] = await filesOf(folder);
    await authorize(store, 'bob');
    const cache = new TokenCache();
    expect(await Promise.all(['ann', 'bob'].map((user) => cache.get(grantOf(store, user))))).toEqual([
      'planted-access-ann-1',
      'planted-access-bob-2',
    ]);
    const bobFile = (await readdir(folder)).filter(isNoLock).find((name) => name !== annFile?.name) ?? '';
    await writeFile(join(folder, bobFile), annFile?.text ?? '', 'latin1');
    const failure = new TokenCache().get(grantOf(store, 'bob'));
    await expect(failure).rejects.toThrow(/The OAuth tokens of 'mail' can't be read: the tokens in .* are those of another user/);
    expect(oauth.received).toHaveLength(2);
  });

  test("of a user are never replaced by the client's own rights", async () => {
    const { store } = await newStore();
    await expect(new TokenCache().get(grantOf(store, 'ann'))).rejects.toThrow("This user has not authorized 'mail', or not any more.");
    expect(oauth.received).toEqual([]);
    expect(() => tokenKey({ connector: 'mail', user: '' })).toThrow('user is no text, or an empty one');
    await expect(new TokenCache().get(grantOf(store, ''))).rejects.toThrow('user is no text, or an empty one');
    expect(await new TokenCache().get(grantOf(store))).toBe('planted-access-client-1');
    expect(await new TokenCache().get(grantOf(store))).toBe('planted-access-client-1');
  });

  test('are those of their scopes: for others, the same refresh token gets another access token, one request after the other', async () => {
    const { store } = await newStore();
    await authorize(store, 'ann');
    const cache = new TokenCache();
    const [read, write] = await Promise.all(['read', 'write'].map((scope) => cache.get(grantOf(store, 'ann', { scopes: [scope] }))));
    expect([read, write]).toEqual(['planted-access-ann-2', 'planted-access-ann-3']);
  });

  test('of several processes: each refresh token is used once, and the newest is never lost', async () => {
    const key = newKey();
    const { folder, store } = await newStore(keysFromText(key));
    await authorize(store, 'ann');
    // Each token is to be renewed at once.
    lifeSeconds = 0.001;
    const script = `
      const { folderTokenStore } = require('./src/tools/oauth/folder-token-store.ts');
      const { TokenCache } = require('./src/tools/oauth/token-cache.ts');
      const { keysFromText } = require('./src/encoding/key-provider.ts');
      const [folder, key, tokenUrl] = process.argv.slice(1);
      const storage = { store: folderTokenStore({ folder, keys: keysFromText(key) }), connector: 'mail', user: 'ann' };
      (async () => { for (let at = 0; at < 20; at++) await new TokenCache(() => Date.now() + 7200000).get({ tokenUrl, clientId: 'id', storage }); })();`;
    const others = Array.from({ length: 3 }, () =>
      spawn(process.execPath, ['--require', 'tsx/cjs', '--eval', script, folder, key, `${oauth.url}/token`], { stdio: 'inherit' }),
    );
    const ended = Promise.all(others.map((other) => once(other, 'exit')));
    const name = tokenKey({ connector: 'mail', user: 'ann' });
    let reads = 0;
    while (others.some(({ exitCode }) => exitCode === null)) {
      expect((await store.get(name))?.refreshToken).toMatch(/^planted-refresh-ann-\d+$/);
      reads += 1;
    }
    expect(await ended).toEqual(Array(3).fill([0, null]));
    expect(issued).toBe(61);
    expect((await store.get(name))?.refreshToken).toBe(current.get('ann'));
    expect(reads).toBeGreaterThan(5);
    expect((await readdir(folder)).filter(isNoLock)).toHaveLength(1);
  }, 60_000);

  test('a process that waits for a slow OAuth server keeps the lock; that of a dead one ends', async () => {
    const { folder, store } = await newStore();
    const order: string[] = [];
    const slow = store.exclusively?.('key', async () => {
      order.push('begins');
      await sleep(6_500);
      order.push('ends');
    });
    while (order.length === 0) await sleep(5);
    await Promise.all([slow, store.exclusively?.('key', async () => void order.push('next'))]);
    expect(order).toEqual(['begins', 'ends', 'next']);
    await store.set('key', { accessToken: 'a', scope: '', renewAt: 0 });
    const [locks = '', file] = (await readdir(folder)).sort();
    expect(locks).toBe(`.${file}.locks`);
    await writeFile(join(folder, locks, '1000'), '');
    await store.exclusively?.('key', async () => void order.push('after a death'));
    expect(order.at(-1)).toBe('after a death');
    expect(await readdir(join(folder, locks))).toEqual(['1001']);
  }, 40_000);

  test('that could not be written are kept in memory, and written with the next call', async () => {
    const { store } = await newStore();
    await authorize(store, 'ann');
    let isFull = true;
    const failing: TokenStore = {
      ...store,
      async set(key: string, tokens: StoredTokens) {
        if (isFull) throw Object.assign(new Error(`no room for ${tokens.accessToken}`), { code: 'ENOSPC' });
        await store.set(key, tokens);
      },
    };
    lifeSeconds = 3_600;
    const cache = new TokenCache(() => Date.now() + 3_400_000);
    const failure = cache.get(grantOf(failing, 'ann'));
    await expect(failure).rejects.toThrow("The OAuth tokens of 'mail' can't be stored: the store failed (ENOSPC).");
    isFull = false;
    expect(await cache.get(grantOf(failing, 'ann'))).toBe('planted-access-ann-2');
    expect(issued).toBe(2);
    expect((await store.get(tokenKey({ connector: 'mail', user: 'ann' })))?.refreshToken).toBe(current.get('ann'));
  });

  test('tokens that could not be stored do not replace what was deleted or stored since', async () => {
    const { store } = await newStore();
    await authorize(store, 'ann');
    let isFull = true;
    const failing: TokenStore = { ...store, set: (...args) => (isFull ? Promise.reject(new Error('full')) : store.set(...args)) };
    const cache = new TokenCache(() => Date.now() + 3_400_000);
    const key = tokenKey({ connector: 'mail', user: 'ann' });
    await expect(cache.get(grantOf(failing, 'ann'))).rejects.toThrow(/can't be stored/);
    isFull = false;
    await store.delete(key);
    await expect(cache.get(grantOf(failing, 'ann'))).rejects.toThrow(/has not authorized/);
    expect(await store.get(key)).toBeUndefined();

    lifeSeconds = 7_200;
    await authorize(store, 'ann');
    const stored = await store.get(key);
    expect(await cache.get(grantOf(failing, 'ann'))).toBe(stored?.accessToken);
    expect(await store.get(key)).toEqual(stored);
  });

  test('of two stores are apart, and of two objects for the same folder are the same', async () => {
    const [one, other] = [await newStore(), await newStore()];
    await authorize(one.store, 'ann');
    await authorize(other.store, 'ann');
    const cache = new TokenCache();
    const used = async (store: TokenStore) => cache.get(grantOf(store, 'ann'));
    expect(await used(one.store)).not.toBe(await used(other.store));
    expect(folderTokenStore({ folder: '/x/../y', keys: keysFromText(randomBytes(32).toString('base64')) }).id).toBe('folder /y');
  });

  test.each([0, -5, null, '', false, [], 'abc'])(
    'a life of %j says nothing, so the token is used and not requested each time',
    async (life) => {
      lifeSeconds = life as number;
      const { store } = await newStore();
      await authorize(store, 'ann');
      const cache = new TokenCache();
      for (let i = 0; i < 3; i++) expect(await cache.get(grantOf(store, 'ann'))).toBe('planted-access-ann-1');
      expect(issued).toBe(1);
    },
  );

  test('a life without end is one of ten years', async () => {
    lifeSeconds = 1e306;
    const { store } = await newStore();
    await authorize(store, 'ann');
    expect(await new TokenCache().get(grantOf(store, 'ann'))).toBe('planted-access-ann-1');
  });

  test('a refresh token that is not valid any more is replaced by that of the grant, and by a new authorization', async () => {
    const { store } = await newStore();
    await authorize(store, 'ann');
    const later = () => new TokenCache(() => Date.now() + 3_400_000);
    current.set('ann', 'planted-refresh-ann-another');
    await expect(later().get(grantOf(store, 'ann'))).rejects.toThrow('status 400 (invalid_grant)');
    current.set('ann', 'planted-refresh-ann-new');
    oauth.answer = ((before) => (request, response) => {
      const isNew = request.body.toString().includes('planted-refresh-ann-new');
      if (isNew) before(request, response);
      else json(response, 400, { error: 'invalid_grant' });
    })(oauth.answer);
    expect(await later().get(grantOf(store, 'ann', { refreshToken: 'planted-refresh-ann-new' }))).toBe('planted-access-ann-2');
  });

  test('that can not be renewed are used until they expire or are refused', async () => {
    const { store } = await newStore();
    const name = tokenKey({ connector: 'mail', user: 'ann' });
    const grant = grantOf(store, 'ann');
    await store.set(name, { accessToken: 'planted-for-ever', scope: '', renewAt: 1_000 });
    let now = Date.now();
    const cache = new TokenCache(() => now);
    expect(await cache.get(grant)).toBe('planted-for-ever');
    now += 3_600_000;
    expect(await cache.get(grant)).toBe('planted-for-ever');
    expect(cache.forget(grant, 'planted-for-ever')).toBe(true);
    await expect(cache.get(grant)).rejects.toThrow('has not authorized');
    await store.set(name, { accessToken: 'planted-short', scope: '', renewAt: now - 1_000, expiresAt: now + 1_000 });
    expect(await cache.get(grant)).toBe('planted-short');
    now += 1_001;
    await expect(cache.get(grant)).rejects.toThrow('has not authorized');
    expect(oauth.received).toEqual([]);
  });

  test('can be deleted; then the user has to authorize the connector again', async () => {
    const { folder, store } = await newStore();
    await authorize(store, 'ann');
    await store.delete(tokenKey({ connector: 'mail', user: 'ann' }));
    await store.delete(tokenKey({ connector: 'mail', user: 'nobody' }));
    expect((await readdir(folder)).filter(isNoLock)).toEqual([]);
    await expect(new TokenCache().get(grantOf(store, 'ann'))).rejects.toThrow('has not authorized');
  });

  test('are encrypted with the first key, and decrypted with any; damage and missing keys are errors that name no token', async () => {
    const [old, fresh] = [newKey(), newKey()];
    const { folder, store } = await newStore(keysFromText(old));
    await authorize(store, 'ann');
    const grant = (keys: string) => grantOf(folderTokenStore({ folder, keys: keysFromText(keys) }), 'ann');
    expect(await new TokenCache().get(grant(`${fresh} ${old}`))).toBe('planted-access-ann-1');
    await expect(new TokenCache().get(grant(fresh))).rejects.toThrow(/which this process does not have: add that key/);
    await new TokenCache(() => Date.now() + 3_400_000).get(grant(`${fresh} ${old}`));
    expect(await new TokenCache().get(grant(fresh))).toBe('planted-access-ann-2');
    const [{ name = '', text = '' } = {}] = await filesOf(folder);
    const changed = JSON.parse(text);
    changed.data = `${changed.data.slice(0, 8)}${changed.data[8] === 'A' ? 'B' : 'A'}${changed.data.slice(9)}`;
    for (const damaged of [JSON.stringify(changed), text.slice(0, 40), '', '{}', 'x'.repeat(4_000_001)]) {
      await writeFile(join(folder, name), damaged);
      const failure = new TokenCache().get(grant(fresh)).catch((error: Error) => error.message);
      expect(await failure).toMatch(/^The OAuth tokens of 'mail' can't be read: the (?:tokens in|file) /);
      expect(await failure).not.toContain('planted');
    }
    await mkdir(join(folder, 'sub'));
    await expect(
      new TokenCache().get(grantOf(folderTokenStore({ folder: join(folder, name), keys: keysFromText(fresh) }), 'ann')),
    ).rejects.toThrow();
  });

  test('options that can not be used are refused', () => {
    expect(() => folderTokenStore({ folder: ' ', keys: keysFromText(newKey()) })).toThrow('give the path of a folder');
    expect(() => folderTokenStore({ folder: 'tokens', keys: undefined as never })).toThrow('give keys');
  });
});

describe('[A217] a refused access token', () => {
  test('is replaced once a minute, and never taken from the store again', async () => {
    const { store } = await newStore();
    await authorize(store, 'ann');
    let now = Date.now();
    const cache = new TokenCache(() => now);
    const grant = grantOf(store, 'ann');
    const first = await cache.get(grant);
    expect(cache.forget(grant, first)).toBe(true);
    expect(cache.forget(grant, first)).toBe(true);
    const second = await cache.get(grant);
    expect([first, second]).toEqual(['planted-access-ann-1', 'planted-access-ann-2']);
    expect(cache.forget(grant, second)).toBe(false);
    expect(await cache.get(grant)).toBe(second);
    now += 61_000;
    expect(cache.forget(grant, second)).toBe(true);
    expect(await cache.get(grant)).toBe('planted-access-ann-3');
  });
});
