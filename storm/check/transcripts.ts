import type { Evidence, LogMessage, Violation } from './evidence';

/**
 * What the model was sent for an answer that counts is what the log says came before it: no answer of an attempt that was lost, nothing
 * missing, nothing in another order.
 */
export function falseTranscripts({ threads, model }: Evidence): Violation[] {
  const asked = new Map(model.map((line) => [line.n, line]));
  return threads.flatMap(({ id, log = [], messages }) => {
    // Where parts made way, what was sent before can't be put together again.
    if (log.some(({ type }) => type === 'thread.context.compacted')) return [];
    const found: Violation[] = [];
    messages.forEach((message, i) => {
      const saw = message.role === 'assistant' ? asked.get(markOf(message))?.saw : undefined;
      if (!saw) return;
      const should = messages.slice(0, i).map(shortOf);
      const at = should.findIndex((one, k) => !fits(one, saw[k]));
      if (at !== -1 || saw.length < should.length) {
        const place = at === -1 ? saw.length : at;
        found.push({
          rule: 'false transcript',
          thread: id,
          what: `for ${markOf(message)} the model was sent ${JSON.stringify(saw[place] ?? null)} as message ${place + 1}; the log has ${JSON.stringify(should[place])}`,
        });
      }
    });
    return found.slice(0, 3);
  });
}

function fits(should: string[], saw: string[] | undefined): boolean {
  if (!saw || saw[0] !== should[0]) return false;
  // A hook may have changed the words; the calls stay.
  if (should[0] === 'a') return should.slice(1, -1).join() === saw.slice(1, -1).join() && (should.at(-1) === saw.at(-1) || !should.at(-1));
  return should.join() === saw.join();
}

function shortOf(message: LogMessage): string[] {
  if (message.role === 'assistant') return ['a', ...(message.toolCalls ?? []).map(({ id }) => id), markOf(message)];
  return message.role === 'tool' ? ['t', message.toolCallId ?? ''] : ['u', textOf(message.content).slice(0, 60)];
}

function markOf({ content }: LogMessage): string {
  return /#(m\d+)/.exec(textOf(content))?.[1] ?? '';
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return Array.isArray(content) ? content.map((part: { text?: string }) => part.text ?? '').join('') : '';
}
