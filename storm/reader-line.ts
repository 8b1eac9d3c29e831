import { createHash } from 'node:crypto';

/** What a reader saw, to be compared with the log. */
export interface ReaderLine {
  thread: string;
  /** One of the thread's readers, in one process: it begins anew where that was killed. */
  reader: string;
  /** Where it asked to begin. */
  from: number;
  seq: number;
  type: string;
  timestamp: string;
  hash: string;
}

/** Of an event, but for what a message gains when it is taken in: a reader may have seen it while it waited. */
export function hashOf(event: object): string {
  const text = JSON.stringify(event, function (this: { role?: unknown }, key, value) {
    return this.role !== undefined && (key === 'runId' || key === 'stepId') ? undefined : value;
  });
  return createHash('sha1').update(text).digest('hex').slice(0, 16);
}
