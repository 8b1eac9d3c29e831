import { condition } from '@temporalio/workflow';
import { sentId } from '../core/call-ids';
import { textOf } from '../core/message';
import { type ToolOutcome, toContent } from '../core/tool';
import { newId } from './record';
import type { Thread } from './thread';

/** Results that come together are told together: the model is not asked anew for each. */
const batchMs = 500;

/** Lets a call go on behind its placeholder; what comes of it is told to the model as a message. Never rejects. */
export function startBackground(
  { state, record }: Thread,
  { id, name }: { id: string; name: string },
  outcome: Promise<ToolOutcome>,
): void {
  // The model knows the call by the provider's id. Looked up now: the answer may have left the transcript when the result comes.
  const answer = state.messages.findLast((m) => m.role === 'assistant');
  const call = answer?.role === 'assistant' && answer.toolCalls.find((one) => one.id === id);
  const known = call ? sentId(call) : id;
  void outcome.then(({ status, content, error, durationMs }) => {
    const isError = status !== 'success';
    const text = `[Result of ${name}, call ${known}${isError ? `, ${status}` : ''}]\n`;
    const told = typeof content === 'string' ? text + content : [{ type: 'text' as const, text }, ...content];
    record('agent.tool.background.completed', {
      toolCallId: id,
      name,
      status,
      isError,
      message: { id: newId('msg'), role: 'user', content: told, origin: 'tool' },
      ...(error && { error: { ...error, message: error.message || textOf(toContent(content)) } }),
      ...(durationMs !== undefined && { durationMs }),
    });
  });
}

/** Until something came of what goes on in the background, or nothing goes on there. */
export async function awaitBackground({ state }: Thread): Promise<void> {
  const came = () => state.background.length === 0 || state.queue.some((m) => m.delivery !== 'after-run');
  await condition(came);
  await condition(() => state.background.length === 0, batchMs);
}
