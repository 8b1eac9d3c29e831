import { createHash } from 'node:crypto';
import type { S3Client } from '@aws-sdk/client-s3';
import { messageOfThrown } from '../core/thrown';
import { damaged } from './artifact-error';
import { type ArtifactKey, type ArtifactStore, isArtifactId, maxStoredBytes } from './artifact-store';

export interface S3ArtifactsOptions {
  bucket: string;
  /** The beginning of each object's key, such as `longhaul/`. Default: none. */
  prefix?: string | undefined;
  /** The URL of another service than that of AWS, such as `http://127.0.0.1:9000`. The bucket is then part of the path. */
  endpoint?: string | undefined;
  /** Default: as the AWS SDK finds it in the environment. */
  region?: string | undefined;
}

type Sdk = typeof import('@aws-sdk/client-s3');

/** How many objects are deleted at the same time. */
const deletesAtOnce = 20;
/** Services give the time of an object in whole seconds. */
const resolutionMs = 1_000;

/**
 * Keeps artifacts in a bucket of S3 or of a service that is compatible with it, for workers on several machines. The bucket must exist. Needs the package
 * `@aws-sdk/client-s3`, which finds credentials as for any other program: in the environment, in files, or from the machine's role.
 *
 * ```
 * <prefix><hash of the thread's id>/<id>    an object for each artifact of a thread
 * ```
 *
 * Nothing in a bucket counts references, so equal content of several threads is stored for each of them.
 */
export function s3Artifacts({ bucket, prefix = '', endpoint, region }: S3ArtifactsOptions): ArtifactStore {
  if (typeof bucket !== 'string' || bucket.trim() === '') throw new TypeError('s3Artifacts: bucket must be the name of a bucket.');
  let opened: Promise<{ sdk: Sdk; client: S3Client }> | undefined;
  const open = () => {
    opened ??= connect({ endpoint, region });
    return opened;
  };
  const folderOf = (threadId: string) => `${prefix}${createHash('sha256').update(threadId).digest('hex').slice(0, 32)}/`;
  const keyOf = ({ threadId, id }: ArtifactKey) => {
    if (!isArtifactId(id)) throw new TypeError(`'${id}' is not an artifact's id.`);
    return folderOf(threadId) + id;
  };

  async function* objectsUnder(start: string): AsyncGenerator<{ key: string; storedAt: number }> {
    const { sdk, client } = await open();
    for await (const { Contents = [] } of sdk.paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: start })) {
      for (const { Key = '', LastModified } of Contents) yield { key: Key, storedAt: LastModified?.getTime() ?? Date.now() };
    }
  }

  /** Deletes what is in a thread's folder, unless something in it was stored after `before`. Returns whether it did. */
  async function deleteFolder(folder: string, before = Number.POSITIVE_INFINITY): Promise<boolean> {
    const { sdk, client } = await open();
    const keys: string[] = [];
    for await (const { key, storedAt } of objectsUnder(folder)) {
      if (storedAt + resolutionMs >= before) return false;
      keys.push(key);
    }
    // One by one: not every service can delete several objects in one request.
    while (keys.length > 0) {
      const some = keys.splice(0, deletesAtOnce);
      await Promise.all(some.map((Key) => client.send(new sdk.DeleteObjectCommand({ Bucket: bucket, Key }))));
    }
    return true;
  }

  return {
    async put({ bytes, ...key }, abortSignal) {
      const { sdk, client } = await open();
      await client.send(new sdk.PutObjectCommand({ Bucket: bucket, Key: keyOf(key), Body: bytes }), { abortSignal });
    },
    async get(key, abortSignal) {
      const { sdk, client } = await open();
      try {
        const { Body } = await client.send(new sdk.GetObjectCommand({ Bucket: bucket, Key: keyOf(key) }), { abortSignal });
        const bytes = Body && (await collected(Body.transformToWebStream()));
        if (bytes === 'too large') throw damaged(key.id);
        return bytes;
      } catch (error) {
        if ((error as Error).name === 'NoSuchKey') return undefined;
        throw error;
      }
    },
    async deleteThread(threadId) {
      await deleteFolder(folderOf(threadId));
    },
    async deleteUnusedSince(time) {
      const folders = new Set<string>();
      for await (const { key } of objectsUnder(prefix)) {
        const [folder] = /^[0-9a-f]{32}\/(?=[0-9a-f]{32}$)/.exec(key.slice(prefix.length)) ?? [];
        // Other objects of the bucket are not ours.
        if (folder) folders.add(prefix + folder);
      }
      let deleted = 0;
      for (const folder of folders) if (await deleteFolder(folder, time.getTime())) deleted += 1;
      return deleted;
    },
    async close() {
      const { client } = (await opened?.catch(() => undefined)) ?? {};
      opened = undefined;
      client?.destroy();
    },
  };
}

/** Counts what it reads: the length that the service says may be missing. */
async function collected(body: ReadableStream<Uint8Array>): Promise<Uint8Array | 'too large'> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > maxStoredBytes) return 'too large';
    pieces.push(piece);
  }
  return Buffer.concat(pieces, bytes);
}

async function connect({ endpoint, region }: Pick<S3ArtifactsOptions, 'endpoint' | 'region'>): Promise<{ sdk: Sdk; client: S3Client }> {
  const sdk = await load();
  const client = new sdk.S3Client({
    ...(endpoint && { endpoint, forcePathStyle: true }),
    ...(region && { region }),
    // Many compatible services do not know the checksums that the SDK adds by default. The engine checks what it reads.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  return { sdk, client };
}

/** Loaded only by processes that use it. */
async function load(): Promise<Sdk> {
  try {
    return await import('@aws-sdk/client-s3');
  } catch (cause) {
    throw new Error(`s3Artifacts needs the package @aws-sdk/client-s3: npm install @aws-sdk/client-s3 (${messageOfThrown(cause)})`, {
      cause,
    });
  }
}

export function isS3Url(place: string): boolean {
  return place.startsWith('s3://');
}

/**
 * Reads `s3://bucket/prefix?endpoint=http://127.0.0.1:9000&region=eu-central-1`.
 * @throws TypeError if it has no bucket, or other options
 */
export function s3At(place: string): S3ArtifactsOptions {
  const { hostname, pathname, searchParams } = new URL(place);
  const { endpoint, region, ...others } = Object.fromEntries(searchParams);
  const [other] = Object.keys(others);
  if (hostname === '' || other !== undefined) {
    throw new TypeError(`A store in S3 is s3://BUCKET/PREFIX, with the options endpoint and region; got ${other ?? 'no bucket'}.`);
  }
  const path = decodeURIComponent(pathname).replace(/^\/+|\/+$/g, '');
  return { bucket: hostname, ...(path && { prefix: `${path}/` }), ...(endpoint && { endpoint }), ...(region && { region }) };
}
