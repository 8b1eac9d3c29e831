import { runWorkerProcess } from '../../worker/process';
import { noteLines } from '../views/terminal';

/** Runs a worker until a signal stops it. */
export async function worker({ agents, mode, taskQueue }: { agents?: string; mode?: string; taskQueue?: string }): Promise<void> {
  await runWorkerProcess({
    ...(agents && { agentsFile: agents }),
    ...(mode && { mode }),
    ...(taskQueue && { taskQueue }),
    announce: noteLines,
  });
}
