import { Context } from '@temporalio/activity';
import type { Message, ToolCall } from '../../src/core/message';
import type { ModelProvider } from '../../src/models/model';
import { agent, toolResult } from '../workload';

export type NaiveActivities = ReturnType<typeof naiveActivities>;

export function naiveActivities(provider: ModelProvider) {
  return {
    async callModel({ messages }: { messages: Message[] }): Promise<{ text: string; calls: ToolCall[] }> {
      const { model, toolbox, instructions } = agent;
      const { text, toolCalls } = await provider.call(
        { model, instructions: String(instructions), messages, tools: toolbox.specs(), settings: {} },
        { signal: Context.current().cancellationSignal },
      );
      return { text, calls: toolCalls };
    },
    async runTool(_call: ToolCall): Promise<string> {
      return toolResult;
    },
  };
}
