import { createHash } from 'node:crypto';
import type { PromptMessage } from './spec';

/**
 * A prompt as Mistral's API accepts it. It rejects ids of calls that are not nine letters and digits, as those of all other providers, and a
 * user's message directly after results. The package of the AI SDK passes both on.
 */
export function mistralPrompt(prompt: readonly PromptMessage[]): PromptMessage[] {
  return prompt.flatMap((message, i) => {
    const made = withShortIds(message);
    return message.role === 'tool' && prompt[i + 1]?.role === 'user' ? [made, bridge] : [made];
  });
}

const bridge: PromptMessage = { role: 'assistant', content: [{ type: 'text', text: 'I have the results.' }] };

function withShortIds(message: PromptMessage): PromptMessage {
  const short = <T extends object>(part: T): T =>
    'toolCallId' in part && typeof part.toolCallId === 'string' ? { ...part, toolCallId: shortId(part.toolCallId) } : part;
  if (message.role === 'tool') return { ...message, content: message.content.map(short) };
  return message.role === 'assistant' ? { ...message, content: message.content.map(short) } : message;
}

/** Always the same for the same id, so that a result still belongs to its call. */
function shortId(id: string): string {
  return /^[A-Za-z0-9]{9}$/.test(id) ? id : createHash('sha256').update(id).digest('hex').slice(0, 9);
}
