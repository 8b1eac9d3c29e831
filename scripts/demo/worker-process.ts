import { join } from 'node:path';
import { guarded } from '../guarded.js';

export interface WorkerProcess {
  pid: number;
  /** Sends SIGKILL, so that the worker can't clean up. Resolves when it has exited. */
  kill(): Promise<void>;
}

const root = join(__dirname, '../..');

/** Starts a worker in a process of its own; resolves when it is ready. It ends with this process, even after SIGKILL. */
export async function startWorker(env: Record<string, string>): Promise<WorkerProcess> {
  let isReady = () => {};
  const ready = new Promise<'ready'>((resolve) => {
    isReady = () => resolve('ready');
  });
  const worker = guarded(process.execPath, ['--require', require.resolve('tsx/cjs'), join(root, 'src/worker.ts')], {
    // Another process shows the model's text while it grows.
    env: { ...process.env, LONGHAUL_LIVE_TEXT_MS: '300', ...env },
    onLine: (line) => {
      if (line.startsWith('longhaul worker:')) isReady();
    },
  });
  if ((await Promise.race([ready, worker.ended])) !== 'ready') {
    const { output, code, error } = await worker.ended;
    throw new Error(`the worker did not start (${error ?? `exit code ${code}`}):\n${output}`);
  }
  const pid = await worker.pid;
  return {
    pid,
    async kill() {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has already exited.
      }
      await worker.ended;
    },
  };
}
