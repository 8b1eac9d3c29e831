import { fork } from 'node:child_process';

/** A child process of the storm, with request and response over its IPC channel. */
export interface Child {
  pid: number;
  /** Resolves when it has exited, with its exit code or the signal that ended it. */
  gone: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  isGone(): boolean;
  /** Sends a request and resolves with its answer. Rejects if the process exits before it answers. */
  ask<T>(question: string, payload?: unknown): Promise<T>;
  /** Sends a request without waiting for an answer. */
  tell(question: string, payload?: unknown): void;
  /** Sends SIGKILL, which also ends a stopped process, and waits for its exit. */
  kill(): Promise<void>;
  signal(name: NodeJS.Signals): void;
  /** The end of its standard error. */
  said(): string;
}

type Answers = Record<string, (payload: never) => unknown>;

export function startChild(file: string, args: string[], env: NodeJS.ProcessEnv = {}): Child {
  const child = fork(file, args, { execArgv: [], stdio: ['ignore', 'ignore', 'pipe', 'ipc'], env: { ...process.env, ...env } });
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    said = (said + chunk).slice(-8_000);
  });
  let over = false;
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  let next = 1;
  const gone = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) =>
    child.once('exit', (code, signal) => {
      over = true;
      for (const { reject } of waiting.values()) reject(new Error(`${file} ended (${signal ?? code}). ${said}`));
      waiting.clear();
      resolve({ code, signal });
    }),
  );
  child.on('error', () => undefined);
  child.on('message', ({ id, value, error }: { id: number; value?: unknown; error?: string }) => {
    const one = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) one?.resolve(value);
    else one?.reject(new Error(error));
  });
  const send = (message: object) => {
    if (child.connected) child.send(message, () => undefined);
  };
  return {
    pid: child.pid ?? 0,
    gone,
    isGone: () => over,
    ask: <T>(question: string, payload?: unknown) =>
      new Promise<T>((resolve, reject) => {
        if (over) return reject(new Error(`${file} is gone`));
        const id = next++;
        waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
        send({ id, question, payload });
      }),
    tell: (question, payload) => send({ id: 0, question, payload }),
    signal: (name) => void child.kill(name),
    async kill() {
      child.kill('SIGKILL');
      await gone;
    },
    said: () => said,
  };
}

/** The child's end of the channel: answers requests until the parent has exited. */
export function speak(answers: Answers): void {
  process.on('disconnect', () => process.exit());
  process.on('message', async ({ id, question, payload }: { id: number; question: string; payload: never }) => {
    const reply = (message: object) =>
      id > 0 && process.connected && process.send?.({ id, ...message }, undefined, undefined, () => undefined);
    try {
      reply({ value: await answers[question]?.(payload) });
    } catch (error) {
      reply({ error: (error as Error).stack ?? String(error) });
    }
  });
}
