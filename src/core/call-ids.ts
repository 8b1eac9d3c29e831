import type { Message, ToolCall } from './message';

export interface CallIds {
  /** The thread's id of a call that the provider calls so. Also for a call that is still being streamed. */
  of(providerId: string): string;
  /** The calls of the whole answer, under the thread's ids. */
  assign(calls: readonly ToolCall[]): ToolCall[];
}

/**
 * Gives the calls of an answer ids that no other call of the thread has, had, or will have. Approvals, outputs, events and idempotency keys
 * name a call by its id alone, and providers don't keep ids apart: some send none, some begin at `call_1` with every answer.
 *
 * A provider's id is kept only where it is certain that it is new: where the transcript was never rewritten (epoch 0), and so shows every
 * call of the thread, and this id is not among them. In any other case the id is random. Whether a provider's id looks random is not asked,
 * because a wrong guess would let a service take a second charge for a repetition of the first.
 *
 * The provider sees its own id again, as `providerId`, unless another call of the transcript goes by it already.
 */
export function callIds(messages: readonly Message[], epoch: number, random: () => string): CallIds {
  const before = messages.flatMap((message) => (message.role === 'assistant' ? message.toolCalls : []));
  const taken = new Set(before.map(({ id }) => id));
  const sent = new Set(before.map(sentId));
  const named = new Map<string, string>();

  const name = (providerId: string): string => {
    const isNew = epoch === 0 && providerId !== '' && !taken.has(providerId);
    return isNew ? providerId : `call_${random()}`;
  };
  const of = (providerId: string): string => {
    const known = named.get(providerId) ?? name(providerId);
    named.set(providerId, known);
    return known;
  };
  const assign = ({ id: providerId, ...call }: ToolCall): ToolCall => {
    const id = taken.has(of(providerId)) ? name(providerId) : of(providerId);
    const sendOwn = id !== providerId && providerId !== '' && !sent.has(providerId);
    taken.add(id);
    sent.add(sendOwn ? providerId : id);
    return { id, ...call, ...(sendOwn && { providerId }) };
  };
  return { of, assign: (calls) => calls.map(assign) };
}

/** The id by which the provider knows a call. */
export function sentId({ id, providerId }: ToolCall): string {
  return providerId ?? id;
}
