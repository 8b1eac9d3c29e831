import { type Message, type ToolCall, toolCallsOf } from './message';

export interface CallIds {
  /** Returns the thread's id for a provider's call id. Also for a call that is still being streamed. */
  of(providerId: string): string;
  /** Returns the calls of a complete answer with the thread's ids. */
  assign(calls: readonly ToolCall[]): ToolCall[];
}

/**
 * Gives the calls of an answer ids that are unique in the thread over its whole life. Approvals, outputs, events and idempotency keys identify
 * a call by its id alone, and providers' ids are not unique: some providers send none, some begin at `call_1` with every answer.
 *
 * A provider's id is kept only if it is certainly new: the transcript was never rewritten (epoch 0), so it contains every call of the thread,
 * and none has this id. Otherwise the id is random. Whether a provider's id looks random does not matter, because after a wrong guess a service
 * would take a second charge for a repetition of the first.
 *
 * The provider gets its own id back, as `providerId`, unless another call of the transcript already has it.
 */
export function callIds(messages: readonly Message[], epoch: number, random: () => string): CallIds {
  const taken = new Set<string>();
  const sent = new Set<string>();
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    for (const call of toolCallsOf(message.content)) {
      taken.add(call.id);
      sent.add(sentId(call));
    }
  }
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

/** Returns the id of a call in requests to the provider. */
export function sentId({ id, providerId }: ToolCall): string {
  return providerId ?? id;
}
