import { proxyActivities } from '@temporalio/workflow';
import { type Message, textOf, toolCallsOf } from '../../src/core/message';
import type { NaiveActivities } from './naive-activities';

/** The approach of the published integrations: the workflow holds the messages and passes all of them to each model call. */
export async function naive(input: string, callTimeoutMs: number): Promise<string> {
  const { callModel, runTool } = proxyActivities<NaiveActivities>({
    startToCloseTimeout: callTimeoutMs,
    retry: { initialInterval: '200ms' },
  });
  const messages: Message[] = [{ id: 'input', role: 'user', content: input }];
  for (let turn = 1; ; turn++) {
    const content = await callModel({ messages });
    messages.push({ id: `answer-${turn}`, role: 'assistant', content, attempt: 1 });
    const [call] = toolCallsOf(content);
    if (!call) return textOf(content);
    const result = await runTool(call);
    messages.push({ id: `result-${turn}`, role: 'tool', toolCallId: call.id, name: call.name, content: result, isError: false });
  }
}
