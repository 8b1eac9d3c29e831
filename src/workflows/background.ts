import { condition } from '@temporalio/workflow';
import { sentId } from '../core/call-ids';
import { textOf, toolCallsOf } from '../core/message';
import { type ToolOutcome, toContent } from '../core/tool';
import { newId } from './record';
import type { ThreadContext } from './thread-context';

/** Results that arrive within this time go to the model in one turn, not one turn each. */
const batchMs = 500;

/** Records the outcome of a background call when it arrives, as a message to the model. Never rejects. */
export function startBackground(
  { state, record }: ThreadContext,
  { id, name }: { id: string; name: string },
  outcome: Promise<ToolOutcome>,
): void {
  // The model knows the call by the provider's id. Looked up now: the answer may no longer be in the transcript when the result arrives.
  const answer = state.messages.findLast((m) => m.role === 'assistant');
  const call = answer?.role === 'assistant' && toolCallsOf(answer.content).find((one) => one.id === id);
  const known = call ? sentId(call) : id;
  void outcome.then(({ status, content, outputRef, error, durationMs }) => {
    const isError = status !== 'success';
    const text = `[Result of ${name}, call ${known}${isError ? `, ${status}` : ''}]\n`;
    const told = typeof content === 'string' ? text + content : [{ type: 'text' as const, text }, ...content];
    record('agent.tool.background.completed', {
      toolCallId: id,
      name,
      status,
      isError,
      message: { id: newId('msg'), role: 'user', content: told, origin: 'tool' },
      ...(outputRef && { outputRef }),
      ...(error && { error: { ...error, message: error.message || textOf(toContent(content)) } }),
      ...(durationMs !== undefined && { durationMs }),
    });
  });
}

/** Resolves when a background call has a result or a message is queued, or when no background call is left. */
export async function awaitBackground({ state }: ThreadContext): Promise<void> {
  const came = () => state.background.length === 0 || state.queue.some((m) => m.delivery !== 'after-run');
  await condition(came);
  await condition(() => state.background.length === 0, batchMs);
}
