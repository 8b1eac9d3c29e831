import { proxyActivities } from '@temporalio/workflow';
import type { FloorActivities } from './floor-activities';

const { callModel, runTool } = proxyActivities<FloorActivities>({ startToCloseTimeout: '1m' });

/**
 * The least that a durable agent loop can be: two activities a turn, whose results are in the history once, and nothing else.
 * It can't be cancelled in the middle, shows nothing, waits for nobody, and a killed worker takes the conversation with it.
 */
export async function floor(input: string): Promise<string> {
  for (let turn = 1; ; turn++) {
    const { text, calls } = await callModel({ input, turn });
    const [call] = calls;
    if (!call) return text;
    await runTool(call);
  }
}
