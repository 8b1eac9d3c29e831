import { callsOf, type Evidence, type LogMessage, type Violation } from './evidence';

/**
 * For every recorded answer, the model was sent exactly the messages that precede it in the log: no answer of a lost attempt, nothing missing,
 * nothing in another order.
 */
export function falseTranscripts({ threads, model }: Evidence): Violation[] {
  const asked = new Map(model.map((line) => [line.n, line]));
  return threads.flatMap(({ id, log = [], messages }) => {
    // After a compaction the earlier requests can't be reconstructed.
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
  // A hook may have changed the text, but not the calls.
  if (should[0] === 'a') return should.slice(1, -1).join() === saw.slice(1, -1).join() && (should.at(-1) === saw.at(-1) || !should.at(-1));
  return should.join() === saw.join();
}

function shortOf(message: LogMessage): string[] {
  if (message.role === 'assistant') return ['a', ...callsOf(message).map(({ id }) => id), markOf(message)];
  return message.role === 'tool' ? ['t', message.toolCallId ?? ''] : ['u', textOf(message.content).slice(0, 60)];
}

function markOf({ content }: LogMessage): string {
  return /#(m\d+)/.exec(textOf(content))?.[1] ?? '';
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return Array.isArray(content)
    ? content.map((part: { type: string; text?: string }) => (part.type === 'text' ? part.text : '')).join('')
    : '';
}
