import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { CreateBucketCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { type ArtifactStore, Artifacts, artifactsAt, s3Artifacts } from '../../src/artifacts';
import { freePort } from '../support/free-port';
import { until } from '../support/until';
import { describeStore } from './store-contract';

const program = 'moto_server';
const isInstalled = spawnSync(program, ['--help']).status === 0;
/** CI installs it. */
const isWanted = isInstalled || process.env.CI === 'true';
const describeWithServer = isWanted ? describe : describe.skip;
const name = isWanted ? 'with a server' : `with a server (${program} is not installed: see .ci/run)`;

const stores: ArtifactStore[] = [];
let server: ChildProcess | undefined;
let port = 0;
let endpoint = '';
let client: S3Client;

beforeAll(async () => {
  if (!isWanted) return;
  Object.assign(process.env, { AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' });
  port = await freePort();
  endpoint = `http://127.0.0.1:${port}`;
  client = new S3Client({ endpoint, forcePathStyle: true });
  await startServer();
}, 60_000);

afterAll(async () => {
  await Promise.all(stores.map((store) => store.close?.()));
  client?.destroy();
  await stopServer();
});

/** It keeps its objects in memory, and lists ten of them in a page. */
async function startServer(): Promise<void> {
  server = spawn(program, ['-H', '127.0.0.1', '-p', String(port)], {
    stdio: 'ignore',
    env: { ...process.env, MOTO_S3_DEFAULT_MAX_KEYS: '10' },
  });
  await until('the server has a bucket', () =>
    client.send(new CreateBucketCommand({ Bucket: 'outputs' })).then(
      () => true,
      () => false,
    ),
  );
}

async function stopServer(): Promise<void> {
  if (!server || server.exitCode !== null) return;
  const gone = new Promise((resolve) => server?.once('exit', resolve));
  server.kill('SIGKILL');
  await gone;
}

function open(prefix = 'longhaul/'): ArtifactStore {
  const store = s3Artifacts({ bucket: 'outputs', prefix, endpoint });
  stores.push(store);
  return store;
}

describeWithServer(name, () => {
  // The server tells times in whole seconds.
  describeStore('S3', open, { clockMs: 2_100 });

  const never = new AbortController().signal;
  const id = 'ab'.repeat(16);

  test('a URL names bucket, prefix and endpoint, and the outputs of another prefix are not touched', async () => {
    const [mine, other] = [artifactsAt(`s3://outputs/a/b?endpoint=${endpoint}&region=us-east-1`), open('a/bc/')];
    stores.push(mine);
    for (const store of [mine, other]) await store.put({ threadId: 't', id, bytes: Buffer.from('x') }, never);
    await client.send(new PutObjectCommand({ Bucket: 'outputs', Key: 'a/b/of-somebody-else', Body: 'x' }));
    expect(await open('a/b/').get({ threadId: 't', id }, never)).toBeDefined();
    expect(await mine.deleteUnusedSince(new Date(Date.now() + 10_000))).toBe(1);
    expect(await mine.get({ threadId: 't', id }, never)).toBeUndefined();
    expect(await other.get({ threadId: 't', id }, never)).toBeDefined();
  });

  test('outputs of a thread with more objects than a page lists are all deleted', async () => {
    const store = open('pages/');
    const ids = Array.from({ length: 25 }, (_, at) => at.toString(16).padStart(32, '0'));
    await Promise.all(ids.map((id) => store.put({ threadId: 't', id, bytes: Buffer.from('x') }, never)));
    await store.deleteThread('t');
    for (const id of ids) expect(await store.get({ threadId: 't', id }, never)).toBeUndefined();
  });

  test('what is larger than an output may be is damaged, and is not read further', async () => {
    const store = open('large/');
    await store.put({ threadId: 't', id, bytes: Buffer.from('x') }, never);
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: 'outputs', Prefix: 'large/' }));
    await client.send(new PutObjectCommand({ Bucket: 'outputs', Key: Contents[0]?.Key, Body: Buffer.alloc(64_100_001) }));
    await expect(store.get({ threadId: 't', id }, never)).rejects.toThrow('is damaged');
  }, 30_000);

  test('a server that dies fails no call, and is used again when it is back', async () => {
    const warnings: string[] = [];
    const artifacts = new Artifacts(open(), (words) => warnings.push(words));
    const ref = await artifacts.keep('t', Buffer.from('before'), 'text/plain');
    await stopServer();
    expect(await artifacts.keep('t', Buffer.from('during'), 'text/plain')).toBeUndefined();
    expect(warnings).toHaveLength(1);
    await expect(artifacts.read('t', ref?.id ?? '')).rejects.toThrow("can't be read now");
    await startServer();
    await until('the store works again', async () => (await artifacts.keep('t', Buffer.from('after'), 'text/plain')) !== undefined);
  }, 60_000);

  test('a bucket that does not exist is an error that names it, not a missing output', async () => {
    const store = s3Artifacts({ bucket: 'none', endpoint });
    stores.push(store);
    await expect(store.get({ threadId: 't', id }, never)).rejects.toThrow(/bucket does not exist/);
    await expect(store.put({ threadId: 't', id, bytes: Buffer.from('x') }, never)).rejects.toThrow(/bucket does not exist/);
  });
});

test.each(['s3://', 's3:///prefix', 's3://bucket?acl=public-read'])('%s is refused', (place) => {
  expect(() => artifactsAt(place)).toThrow(/s3:\/\/BUCKET\/PREFIX|Invalid URL/);
});
