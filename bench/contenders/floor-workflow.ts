import { proxyActivities } from '@temporalio/workflow';
import type { FloorActivities } from './floor-activities';

const { callModel, runTool } = proxyActivities<FloorActivities>({ startToCloseTimeout: '1m' });

/**
 * A minimal durable agent loop: two activities a turn, whose results are in the history once, and nothing else.
 * It can't be cancelled in the middle of a step, streams nothing, has no approvals, and loses the conversation with a killed worker.
 */
export async function floor(input: string): Promise<string> {
  for (let turn = 1; ; turn++) {
    const { text, calls } = await callModel({ input, turn });
    const [call] = calls;
    if (!call) return text;
    await runTool(call);
  }
}
