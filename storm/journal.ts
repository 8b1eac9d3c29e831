import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { append, readLines } from './ledger';

export type RequestKind = 'start' | 'message' | 'decision' | 'output' | 'control';

/** A request of a person: one line is written before it is sent, and one with the outcome after it. */
export interface JournalLine {
  id: string;
  at: number;
  outcome: 'intended' | 'accepted' | 'refused' | 'unknown';
  thread: string;
  kind: RequestKind;
  via: 'update' | 'signal';
  /** The request's name: `sendMessage`, `approve`, … */
  name: string;
  /** Part of the request's text, so that the log shows which request an event belongs to. */
  mark: string;
  messageId?: string;
  toolCallId?: string;
  approved?: boolean;
  by?: string;
  edited?: boolean;
  /** The request is invalid, and must be refused. */
  nonsense?: boolean;
  /** Index of the plan's deed, or of the run. */
  deed?: number;
  run?: number;
  error?: string;
}

export type Intent = Omit<JournalLine, 'id' | 'at' | 'outcome' | 'mark' | 'error'> & { mark?: string };

/** Sends a request and writes its two lines. The error code decides whether it was refused or its outcome is unknown. True if it was accepted. */
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

/** The threads for which a start was attempted. */
export function begunIn(folder: string): Set<string> {
  return new Set(readJournal(folder).flatMap(({ kind, thread }) => (kind === 'start' ? [thread] : [])));
}
