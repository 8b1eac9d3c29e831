import { Context } from '@temporalio/activity';
import type { AnswerPart, Message, ToolCall } from '../../src/core/message';
import type { ModelProvider } from '../../src/models/model';
import { agent, toolResult } from '../workload';

export type NaiveActivities = ReturnType<typeof naiveActivities>;

export function naiveActivities(provider: ModelProvider) {
  return {
    async callModel({ messages }: { messages: Message[] }): Promise<AnswerPart[]> {
      const { model, toolbox, instructions } = agent;
      const { parts } = await provider.call(
        { model, instructions: String(instructions), messages, tools: toolbox.specs(), settings: {} },
        { signal: Context.current().cancellationSignal },
      );
      return parts;
    },
    async runTool(_call: ToolCall): Promise<string> {
      return toolResult;
    },
  };
}
