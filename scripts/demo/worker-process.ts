import { join } from 'node:path';
import { guarded } from '../guarded.js';

export interface WorkerProcess {
  pid: number;
  /** SIGKILL: no last words, no clean-up. Resolves when it is gone. */
  kill(): Promise<void>;
}

const root = join(__dirname, '../..');

/** A worker in a process of its own, ready for work. It dies with this process, however that ends. */
export async function startWorker(env: Record<string, string>): Promise<WorkerProcess> {
  let isReady = () => {};
  const ready = new Promise<'ready'>((resolve) => {
    isReady = () => resolve('ready');
  });
  const worker = guarded(process.execPath, ['--require', require.resolve('tsx/cjs'), join(root, 'src/worker.ts')], {
    // Its words are watched from another process as they come.
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
        // It is gone already.
      }
      await worker.ended;
    },
  };
}
