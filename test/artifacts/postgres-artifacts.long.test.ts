import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'pg';
import { findPostgres, postgresCluster } from '../../scripts/stack/postgres.js';
import { type ArtifactStore, Artifacts, postgresArtifacts } from '../../src/artifacts';
import { type EncodingOptions, outputKeys } from '../../src/encoding/encoding';
import { keys, newKey } from '../encoding/keys';
import { freePort } from '../support/free-port';
import { until } from '../support/until';
import { describeStore } from './store-contract';

const folder = mkdtempSync(join(tmpdir(), 'longhaul-postgres-'));
const stores: ArtifactStore[] = [];
let cluster: ReturnType<typeof postgresCluster> | undefined;
let connectionString = '';

/** Where PostgreSQL is not installed, there is nothing to test with. */
const ifInstalled = isInstalled() ? describe : describe.skip;
function isInstalled(): boolean {
  try {
    return findPostgres() !== '';
  } catch {
    return false;
  }
}

beforeAll(async () => {
  if (!isInstalled()) return;
  const port = await freePort();
  cluster = postgresCluster(folder, port, 'secret');
  cluster.create();
  await cluster.start();
  connectionString = `postgres://temporal:secret@127.0.0.1:${port}/postgres`;
});

afterAll(async () => {
  await Promise.all(stores.map((store) => store.close?.()));
  await cluster?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function filesWith(word: string): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => join(parentPath, name)).filter((file) => readFileSync(file).includes(word));
}

function open(): ArtifactStore {
  const store = postgresArtifacts({ connectionString });
  stores.push(store);
  return store;
}

ifInstalled('with a server', () => {
  describeStore('PostgreSQL', open);

  const never = new AbortController().signal;
  const id = 'ab'.repeat(16);

  test('equal content of several threads is stored once, and no longer than by the last of them', async () => {
    const store = open();
    const rows = async () => {
      const pool = new Pool({ connectionString });
      const { rowCount } = await pool.query('select from longhaul_artifacts where id = $1', [id]);
      await pool.end();
      return rowCount;
    };
    for (const threadId of ['a', 'b']) await store.put({ threadId, id, bytes: Buffer.from('x') }, never);
    expect(await rows()).toBe(1);
    await Promise.all(['a', 'b'].map((threadId) => store.deleteThread(threadId)));
    // Two that are deleted at the same time may each leave it to the other; the next sweep deletes it.
    await store.deleteUnusedSince(new Date(0));
    expect(await rows()).toBe(0);
  });

  test('what is larger than an output may be is damaged, and is not read', async () => {
    const store = open();
    const key = { threadId: 'large', id: 'cd'.repeat(16) };
    await store.put({ ...key, bytes: Buffer.from('x') }, never);
    const pool = new Pool({ connectionString });
    await pool.query(`update longhaul_artifacts set bytes = convert_to(repeat('x', 64100001), 'UTF8') where id = $1`, [key.id]);
    await pool.end();
    await expect(store.get(key, never)).rejects.toThrow('is damaged');
  });

  test('with a key, a word of an output is in no file of the server; without one, it is', async () => {
    const keep = (word: string, provider: EncodingOptions) =>
      new Artifacts(open(), undefined, outputKeys(provider)).keep('t', Buffer.from(`a ${word}`), 'text/plain');
    await keep('plainxyzzy', {});
    await keep('sealedxyzzy', { keys: keys(newKey()) });
    const pool = new Pool({ connectionString });
    await pool.query('checkpoint');
    await pool.end();
    expect(filesWith('plainxyzzy')).not.toEqual([]);
    expect(filesWith('sealedxyzzy')).toEqual([]);
  });

  test('a server that dies fails no call, and is used again when it is back', async () => {
    const warnings: string[] = [];
    const artifacts = new Artifacts(open(), (words) => warnings.push(words));
    const ref = await artifacts.keep('t', Buffer.from('before'), 'text/plain');
    await cluster?.crash();
    expect(await artifacts.keep('t', Buffer.from('during'), 'text/plain')).toBeUndefined();
    expect(warnings).toHaveLength(1);
    await expect(artifacts.read('t', ref?.id ?? '')).rejects.toThrow("can't be read now");
    await cluster?.start();
    await until('the store works again', async () => (await artifacts.keep('t', Buffer.from('after'), 'text/plain')) !== undefined);
    expect((await artifacts.read('t', ref?.id ?? '')).toString()).toBe('before');
  }, 60_000);

  test('a connection that can not be made is an error, and a place that is no server is refused', async () => {
    const store = postgresArtifacts({ connectionString: 'postgres://nobody:x@127.0.0.1:9/none' });
    await expect(store.get({ threadId: 't', id }, never)).rejects.toThrow(/ECONNREFUSED/);
    expect(() => postgresArtifacts({ connectionString: 'mysql://x' })).toThrow('must begin with postgres://');
  });
});
