import { runWorkerProcess } from '../worker/process';
import { noteLines } from './terminal';

/** Runs a worker until it is told to stop. */
export async function worker({ agents, taskQueue }: { agents?: string; taskQueue?: string }): Promise<void> {
  await runWorkerProcess({ ...(agents && { agentsFile: agents }), ...(taskQueue && { taskQueue }), announce: noteLines });
}
