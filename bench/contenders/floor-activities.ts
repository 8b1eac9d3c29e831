import { Context } from '@temporalio/activity';
import { type Message, type ToolCall, textOf, toolCallsOf } from '../../src/core/message';
import type { ModelProvider } from '../../src/models/model';
import { agent, toolResult } from '../workload';

export type FloorActivities = ReturnType<typeof floorActivities>;

/** The conversation is only in the memory of this process. */
export function floorActivities(provider: ModelProvider) {
  const transcripts = new Map<string, Message[]>();
  const idOf = () => Context.current().info.workflowExecution?.workflowId ?? '';
  return {
    async callModel({ input, turn }: { input: string; turn: number }): Promise<{ text: string; calls: ToolCall[] }> {
      const id = idOf();
      const messages = transcripts.get(id) ?? [{ id: 'input', role: 'user', content: input }];
      const { model, toolbox, instructions } = agent;
      const { parts } = await provider.call(
        { model, instructions: String(instructions), messages, tools: toolbox.specs(), settings: {} },
        { signal: Context.current().cancellationSignal },
      );
      messages.push({ id: `answer-${turn}`, role: 'assistant', content: parts, attempt: 1 });
      transcripts.set(id, messages);
      return { text: textOf(parts), calls: toolCallsOf(parts) };
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
