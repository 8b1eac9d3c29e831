import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { append, readLines } from './ledger';

export type RequestKind = 'start' | 'message' | 'decision' | 'output' | 'control';

/** What people asked for, written before they do, and what they were told, after. */
export interface JournalLine {
  id: string;
  at: number;
  outcome: 'intended' | 'accepted' | 'refused' | 'unknown';
  thread: string;
  kind: RequestKind;
  via: 'update' | 'signal';
  /** Of the request: `sendMessage`, `approve`, … */
  name: string;
  /** Stands in the request's words, so that the log shows whose it is. */
  mark: string;
  messageId?: string;
  toolCallId?: string;
  approved?: boolean;
  by?: string;
  edited?: boolean;
  /** It makes no sense, and is to be refused. */
  nonsense?: boolean;
  /** Which of the plan's deeds, or which run. */
  deed?: number;
  run?: number;
  error?: string;
}

export type Intent = Omit<JournalLine, 'id' | 'at' | 'outcome' | 'mark' | 'error'> & { mark?: string };

/** A request with its two lines. What it rejects with decides whether it was refused, or nobody knows. */
export async function journaled(file: string, intent: Intent, ask: (mark: string) => Promise<unknown>): Promise<boolean> {
  const id = randomBytes(6).toString('hex');
  const { mark = `req-${id}`, ...rest } = intent;
  const line = { ...rest, id, mark };
  append(file, { ...line, at: Date.now(), outcome: 'intended' });
  try {
    await ask(mark);
    append(file, { ...line, at: Date.now(), outcome: 'accepted' });
    return true;
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: string };
    const outcome = ['request-refused', 'thread-closed', 'invalid-input', 'thread-exists', 'run-not-found'].includes(String(code));
    append(file, {
      ...line,
      at: Date.now(),
      outcome: outcome ? 'refused' : 'unknown',
      error: `${code ?? ''} ${message ?? error}`.slice(0, 400),
    });
    return false;
  }
}

export function readJournal(folder: string): JournalLine[] {
  const files = readdirSync(folder).filter((name) => name.startsWith('journal-'));
  return files.flatMap((name) => readLines<JournalLine>(join(folder, name)));
}

/** The threads that somebody has tried to start. */
export function begunIn(folder: string): Set<string> {
  return new Set(readJournal(folder).flatMap(({ kind, thread }) => (kind === 'start' ? [thread] : [])));
}
