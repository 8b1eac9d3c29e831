import { fork } from 'node:child_process';

/** A process of the bench, with request and response over its IPC channel. */
export interface Link {
  pid: number;
  gone: Promise<void>;
  ask<T>(question: string, payload?: unknown): Promise<T>;
  /** Sends SIGKILL; resolves when the process has exited. */
  kill(): Promise<void>;
}

type Answers = Record<string, (payload: never) => unknown>;

/** Starts a file as a process; resolves when it answers. Rejects, with its standard error, if it exits before that. */
export async function startProcess(file: string, args: string[], nodeOptions: string[] = []): Promise<Link> {
  const child = fork(file, args, {
    execArgv: nodeOptions,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    said = (said + chunk).slice(-4_000);
  });
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  let next = 1;
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.on('message', ({ id, value, error }: { id: number; value?: unknown; error?: string }) => {
    const one = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) one?.resolve(value);
    else one?.reject(new Error(`${file} ${args[0] ?? ''}: ${error}`));
  });
  void gone.then(() => {
    for (const { reject } of waiting.values()) reject(new Error(`${file} ${args[0] ?? ''} ended. ${said}`));
    waiting.clear();
  });
  const link: Link = {
    pid: child.pid ?? 0,
    gone,
    ask: <T>(question: string, payload?: unknown) =>
      new Promise<T>((resolve, reject) => {
        const id = next++;
        waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
        child.send({ id, question, payload }, (error) => error && reject(error));
      }),
    async kill() {
      child.kill('SIGKILL');
      await gone;
    },
  };
  try {
    await link.ask('ready');
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  return link;
}

/** The child's end of the channel: answers requests until the parent has exited. */
export function answer(answers: Answers): void {
  process.on('disconnect', () => process.exit());
  process.on('message', async ({ id, question, payload }: { id: number; question: string; payload: never }) => {
    try {
      const value = await answers[question]?.(payload);
      process.send?.({ id, value });
    } catch (error) {
      process.send?.({ id, error: (error as Error).stack ?? String(error) });
    }
  });
}
