import { createHash } from 'node:crypto';
import type { Pool, QueryResult } from 'pg';
import { damaged } from './artifact-error';
import { type ArtifactKey, type ArtifactStore, isArtifactId, maxStoredBytes } from './artifact-store';

export interface PostgresArtifactsOptions {
  /** As in `postgres://user:password@host:5432/database`. */
  connectionString: string;
  /** The maximum number of connections of this process. Default 5. */
  maxConnections?: number | undefined;
}

/** `stored_at`: when the thread last stored it. */
const schema = `
  create table if not exists longhaul_artifacts (id text primary key, bytes bytea not null);
  create table if not exists longhaul_artifact_refs (
    thread text not null,
    id text not null references longhaul_artifacts,
    stored_at timestamptz not null default now(),
    primary key (thread, id)
  );
  create index if not exists longhaul_artifact_refs_id on longhaul_artifact_refs (id);`;

/** Creating the same table twice at the same time fails, so those who create it take turns. The number is arbitrary. */
const setUp = `select pg_advisory_xact_lock(7141523); ${schema}`;

/** Compares the content, of which only the hash is sent: what is there may have been changed since. */
const refer = `
  insert into longhaul_artifact_refs (thread, id)
  select $1, id from longhaul_artifacts where id = $2 and sha256(bytes) = $3
  on conflict (thread, id) do update set stored_at = now()`;

/** The update also locks content that exists already, so that nobody deletes it before this thread refers to it. */
const store = `
  with content as (
    insert into longhaul_artifacts (id, bytes) values ($2, $3)
    on conflict (id) do update set bytes = excluded.bytes
    returning id
  )
  insert into longhaul_artifact_refs (thread, id) select $1, id from content
  on conflict (thread, id) do update set stored_at = now()`;

/** The bytes are null if they are too many. */
const read = `
  select case when octet_length(bytes) <= ${maxStoredBytes} then bytes end as bytes
  from longhaul_artifact_refs join longhaul_artifacts using (id) where thread = $1 and id = $2`;

const deleteOfThread = `
  with gone as (delete from longhaul_artifact_refs where thread = $1 returning id)
  delete from longhaul_artifacts a using gone
  where a.id = gone.id and not exists (select from longhaul_artifact_refs r where r.id = a.id and r.thread <> $1)`;

const deleteUnused = `
  with unused as (select thread from longhaul_artifact_refs group by thread having max(stored_at) < $1)
  delete from longhaul_artifact_refs r using unused where r.thread = unused.thread returning r.thread`;

const deleteUnreferred = 'delete from longhaul_artifacts a where not exists (select from longhaul_artifact_refs r where r.id = a.id)';

/**
 * Keeps artifacts in PostgreSQL, for workers on several machines. Creates its two tables (`longhaul_artifacts`, `longhaul_artifact_refs`) if they
 * do not exist. Connects when it is first used.
 */
export function postgresArtifacts({ connectionString, maxConnections = 5 }: PostgresArtifactsOptions): ArtifactStore {
  if (typeof connectionString !== 'string' || !isPostgresUrl(connectionString)) {
    throw new TypeError('postgresArtifacts: connectionString must begin with postgres:// or postgresql://.');
  }
  let opened: Promise<Pool> | undefined;
  const open = () => {
    opened ??= openPool(connectionString, maxConnections).catch((error: unknown) => {
      // The next use tries again.
      opened = undefined;
      throw error;
    });
    return opened;
  };
  const query = async (text: string, values: unknown[]): Promise<QueryResult> => {
    const pool = await open();
    return untilUndisputed(() => pool.query(text, values));
  };
  return {
    async put({ threadId, id, bytes }) {
      checkId({ threadId, id });
      const { rowCount } = await query(refer, [threadId, id, createHash('sha256').update(bytes).digest()]);
      if (rowCount === 0) await query(store, [threadId, id, bytes]);
    },
    async get({ threadId, id }) {
      checkId({ threadId, id });
      const { rows } = await query(read, [threadId, id]);
      const [found] = rows;
      if (found && found.bytes === null) throw damaged(id);
      return found?.bytes;
    },
    async deleteThread(threadId) {
      await query(deleteOfThread, [threadId]);
    },
    async deleteUnusedSince(time) {
      const { rows } = await query(deleteUnused, [time]);
      await query(deleteUnreferred, []);
      return new Set(rows.map(({ thread }) => thread)).size;
    },
    async close() {
      const pool = await opened?.catch(() => undefined);
      opened = undefined;
      await pool?.end();
    },
  };
}

export function isPostgresUrl(place: string): boolean {
  return /^postgres(ql)?:\/\//.test(place);
}

function checkId({ id }: ArtifactKey): void {
  if (!isArtifactId(id)) throw new TypeError(`'${id}' is not an artifact's id.`);
}

async function openPool(connectionString: string, max: number): Promise<Pool> {
  // Loaded only by processes that use it.
  const { default: pg } = await import('pg');
  const pool = new pg.Pool({
    connectionString,
    max,
    connectionTimeoutMillis: 5_000,
    query_timeout: 20_000,
    keepAlive: true,
    // An idle connection does not keep a program from ending.
    allowExitOnIdle: true,
    application_name: 'longhaul',
  });
  // An idle connection that breaks is replaced at the next use; without a listener it would end the process.
  pool.on('error', () => undefined);
  try {
    await pool.query(setUp);
    return pool;
  } catch (error) {
    await pool.end().catch(() => undefined);
    throw error;
  }
}

const foreignKeyViolation = '23503';
const deadlock = '40P01';
const tries = 5;

/** Repeats a statement that was in conflict with one of another process: content was referred to while it was deleted. */
async function untilUndisputed<T>(run: () => Promise<T>): Promise<T> {
  for (let left = tries - 1; ; left--) {
    try {
      return await run();
    } catch (error) {
      const { code } = error as { code?: string };
      if (left === 0 || (code !== foreignKeyViolation && code !== deadlock)) throw error;
    }
  }
}
