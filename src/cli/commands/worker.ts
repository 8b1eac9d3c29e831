import { runWorkerProcess } from '../../worker/process';
import { noteLines } from '../views/terminal';
import { usualOutputs } from './data-folder';

interface WorkerOptions {
  agents?: string;
  mode?: string;
  sandbox?: string;
  taskQueue?: string;
}

/** Runs a worker until a signal stops it. */
export async function worker({ agents, mode, sandbox, taskQueue }: WorkerOptions): Promise<void> {
  await runWorkerProcess({
    ...(agents && { agentsFile: agents }),
    ...(mode && { mode }),
    ...(sandbox && { sandbox }),
    ...(taskQueue && { taskQueue }),
    artifacts: usualOutputs(),
    announce: noteLines,
  });
}
