import { fork } from 'node:child_process';

/** Requests that a process answers, by name. */
export type Answers = Record<string, (payload: never) => unknown>;

/** A message in either direction: a question with an id and its answer, or a report without an id. */
interface Message {
  id?: number;
  name?: string;
  payload?: unknown;
  error?: string;
}

/** A worker process of `crashEverywhere`, with questions and reports over its IPC channel. */
export interface Child {
  /** Rejects if the process ends before it answers. */
  ask<T>(name: string, payload?: unknown): Promise<T>;
  tell(name: string, payload?: unknown): void;
  signal(name: NodeJS.Signals): void;
  /** Sends SIGKILL, which also ends a frozen process, and waits for its end. */
  kill(): Promise<void>;
  /** Receives the reports of this name. */
  onReport(name: string, receive: (payload: unknown) => void): void;
}

export function startChild(file: string): Child {
  const child = fork(file, [], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  // A frozen process would not notice that this one has ended.
  const end = () => void child.kill('SIGKILL');
  process.once('exit', end);
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    said = (said + chunk).slice(-4_000);
  });
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  const receivers = new Map<string, (payload: unknown) => void>();
  let over: Error | undefined;
  const gone = new Promise<void>((resolve) =>
    child.once('close', (code, signal) => {
      process.off('exit', end);
      over = new Error(`A worker process of crashEverywhere ended (${signal ?? `exit code ${code}`}). ${said}`.trim());
      for (const { reject } of waiting.values()) reject(over);
      waiting.clear();
      resolve();
    }),
  );
  child.on('error', () => undefined);
  const send = (message: Message) => {
    if (child.connected) child.send(message, () => undefined);
  };
  let next = 1;
  child.on('message', ({ id, name = '', payload, error }: Message) => {
    if (id === undefined) return receivers.get(name)?.(payload);
    const asked = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) asked?.resolve(payload);
    else asked?.reject(new Error(error));
  });
  return {
    ask: <T>(name: string, payload?: unknown) =>
      new Promise<T>((resolve, reject) => {
        if (over) return reject(over);
        const id = next++;
        waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
        send({ id, name, payload });
      }),
    tell: (name, payload) => send({ name, payload }),
    signal: (name) => void child.kill(name),
    async kill() {
      child.kill('SIGKILL');
      await gone;
    },
    onReport: (name, receive) => void receivers.set(name, receive),
  };
}

/** The child's end of the channel. The process ends with its parent. Returns the function that reports to the parent. */
export function answerParent(answers: Answers): (name: string, payload: unknown) => void {
  const send = (message: Message) => {
    if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
  };
  process.on('disconnect', () => process.exit());
  process.on('message', async ({ id, name = '', payload }: Message) => {
    try {
      const answer = await answers[name]?.(payload as never);
      if (id !== undefined) send({ id, payload: answer });
    } catch (error) {
      send({ ...(id !== undefined && { id }), error: (error as Error).message });
    }
  });
  return (name, payload) => send({ name, payload });
}
