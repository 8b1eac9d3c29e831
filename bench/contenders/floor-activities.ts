import { Context } from '@temporalio/activity';
import type { Message, ToolCall } from '../../src/core/message';
import type { ModelProvider } from '../../src/models/model';
import { agent, toolResult } from '../workload';

export type FloorActivities = ReturnType<typeof floorActivities>;

/** The conversation lies in the memory of this process and nowhere else. */
export function floorActivities(provider: ModelProvider) {
  const transcripts = new Map<string, Message[]>();
  const idOf = () => Context.current().info.workflowExecution?.workflowId ?? '';
  return {
    async callModel({ input, turn }: { input: string; turn: number }): Promise<{ text: string; calls: ToolCall[] }> {
      const id = idOf();
      const messages = transcripts.get(id) ?? [{ id: 'input', role: 'user', content: input }];
      const { model, toolbox, instructions } = agent;
      const { text, toolCalls } = await provider.call(
        { model, instructions: String(instructions), messages, tools: toolbox.specs(), settings: {} },
        { signal: Context.current().cancellationSignal },
      );
      messages.push({ id: `answer-${turn}`, role: 'assistant', content: text, toolCalls, attempt: 1 });
      transcripts.set(id, messages);
      return { text, calls: toolCalls };
    },
    async runTool(call: ToolCall): Promise<string> {
      const message: Message = {
        id: `result-${call.id}`,
        role: 'tool',
        toolCallId: call.id,
        name: call.name,
        content: toolResult,
        isError: false,
      };
      transcripts.get(idOf())?.push(message);
      return toolResult;
    },
  };
}
