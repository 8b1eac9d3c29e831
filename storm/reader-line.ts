import { createHash } from 'node:crypto';

/** An event that a reader received, for comparison with the log. */
export interface ReaderLine {
  thread: string;
  /** One of the thread's readers in one process; after the process was killed it starts from the beginning under another name. */
  reader: string;
  /** The `seq` that it started to read from. */
  from: number;
  seq: number;
  type: string;
  timestamp: string;
  hash: string;
}

/** Hash of an event without the fields that a message gains when it is taken in, because a reader may have seen the message before that. */
export function hashOf(event: object): string {
  const text = JSON.stringify(event, function (this: { role?: unknown }, key, value) {
    return this.role !== undefined && (key === 'runId' || key === 'stepId') ? undefined : value;
  });
  return createHash('sha1').update(text).digest('hex').slice(0, 16);
}
