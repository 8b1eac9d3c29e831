import { runWorkerProcess } from '../../worker/process';
import { noteLines } from '../views/terminal';
import { usualOutputs } from './data-folder';

/** Runs a worker until a signal stops it. */
export async function worker({ agents, mode, taskQueue }: { agents?: string; mode?: string; taskQueue?: string }): Promise<void> {
  await runWorkerProcess({
    ...(agents && { agentsFile: agents }),
    ...(mode && { mode }),
    ...(taskQueue && { taskQueue }),
    artifacts: usualOutputs(),
    announce: noteLines,
  });
}
