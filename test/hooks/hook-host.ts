import type { HookInput, HookName } from '../../src/core/hooks';
import type { HookHost } from '../../src/hooks';

export function hostWith(overrides: Partial<HookHost> = {}): HookHost {
  return { agent: 'support', threadId: 'thread-1', runId: 'run-1', turn: 3, signal: new AbortController().signal, ...overrides };
}

export const call = { id: 'call-1', name: 'refund_order', arguments: '{"cents":5}' };
const usage = { inputTokens: 1, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 1, reasoningTokens: 0 };

/** An input for every name. */
export const inputs: { [N in HookName]: HookInput[N] } = {
  'before:execution': { messages: [{ id: 'm1', role: 'user', content: 'hello' }] },
  'after:execution': { status: 'completed', output: 'done', usage },
  'pause:check': {},
  'before:llm': { model: 'openai/gpt-5', settings: {} },
  'after:llm': { text: 'the answer', toolCalls: [], finishReason: 'stop', usage },
  'before:tool': { call },
  'after:tool': { call, status: 'success', content: 'paid' },
  'approve:tool': { call },
  'check:completion': { output: 'done' },
  'on:compaction': { reason: 'carry-over', prunedOutputs: 1, droppedMessages: 0, bytes: 10 },
  'on:event': { from: 4, to: 9 },
};

/** A promise that is settled by hand. */
export function gate<T>() {
  let open: (value: T) => void = () => undefined;
  let fail: (error: unknown) => void = () => undefined;
  const promise = new Promise<T>((resolve, reject) => {
    [open, fail] = [resolve, reject];
  });
  return { promise, open, fail };
}
