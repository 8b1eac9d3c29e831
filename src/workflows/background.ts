import { condition } from '@temporalio/workflow';
import { textOf } from '../core/message';
import { type ToolOutcome, toContent } from '../core/tool';
import { newId } from './record';
import type { Thread } from './thread';

/** Results that come together are told together: the model is not asked anew for each. */
const batchMs = 500;

/** Lets a call go on behind its placeholder; what comes of it is told to the model as a message. Never rejects. */
export function startBackground({ record }: Thread, { id, name }: { id: string; name: string }, outcome: Promise<ToolOutcome>): void {
  void outcome.then(({ status, content, error, durationMs }) => {
    const isError = status !== 'success';
    const text = `[Result of ${name}, call ${id}${isError ? `, ${status}` : ''}]\n`;
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
