import type { LonghaulClient } from '../src/client';
import type { RequestName } from '../src/contract/requests';
import type { PendingCall } from '../src/core/event';
import { unreachable } from '../src/core/unreachable';
import { type JournalLine, journaled, type RequestKind } from './journal';
import { random } from './random';

/** State that the people of one process share. */
export interface Crowd {
  client: LonghaulClient;
  seed: number;
  journal: string;
  readersFile: string;
  /** The faults are over: people only answer whatever is pending, without delay. */
  calm: boolean;
  /** Resolves after `ms`, or earlier when a fault is about to happen or the calm begins. */
  pause(ms: number): Promise<void>;
}

/** Requests that the storm does not send. */
type NotSent = 'answerQuestion' | 'settle';

export interface Ask
  extends Partial<Pick<JournalLine, 'approved' | 'by' | 'edited' | 'toolCallId' | 'messageId' | 'nonsense' | 'deed' | 'run' | 'mark'>> {
  thread: string;
  kind: RequestKind;
  name: Exclude<RequestName, NotSent>;
  signal?: boolean;
  /** Send it a second time concurrently, under the same id. */
  twice?: boolean;
}

/** Sends a request by its name, as an update with an id, or as a plain signal. True if it was accepted. */
export function ask({ client, journal }: Crowd, { signal, twice, ...intent }: Ask, payload: (mark: string) => object): Promise<boolean> {
  const via = signal ? 'signal' : 'update';
  const handle = client.temporal.workflow.getHandle(intent.thread);
  return journaled(journal, { ...intent, via }, async (mark) => {
    if (signal) return handle.signal(intent.name, payload(mark));
    const thread = client.attach(intent.thread);
    const send = () => {
      const given = payload(mark) as never;
      const id = { id: mark };
      switch (intent.name) {
        case 'sendMessage':
          return thread.send((given as { input: string }).input, given);
        case 'approve':
          return (given as { approved: boolean }).approved === false
            ? thread.reject((given as { toolCallId: string }).toolCallId, { ...withoutCall(given), ...id })
            : thread.approve((given as { toolCallId: string }).toolCallId, { ...withoutCall(given), ...id });
        case 'submitToolOutputs':
          return thread.submitToolOutputs((given as { outputs: never }).outputs, { ...(given as object), ...id });
        case 'cancel':
          return thread.cancel({ ...(given as object), ...id });
        case 'pause':
          return thread.pause({ ...(given as object), ...id });
        case 'resume':
          return thread.resume({ ...(given as object), ...id });
        case 'compact':
          return thread.compact({ ...(given as object), ...id });
        case 'close':
          return thread.close({ ...(given as object), ...id });
        default:
          return unreachable(intent.name);
      }
    };
    if (!twice) return send();
    const [first] = await Promise.all([send(), send().catch(() => undefined)]);
    return first;
  });
}

function withoutCall(given: object): object {
  const { toolCallId: _, approved: __, outputs: ___, ...rest } = given as Record<string, unknown>;
  return rest;
}

/** A person decides on a pending call, or lets its deadline pass; who and how follows from seed, thread and call. */
export async function decide(crowd: Crowd, thread: string, call: PendingCall, round: number): Promise<void> {
  const { kind, toolCallId, dueAt, approvers = 1, votes = [] } = call;
  const rng = random(crowd.seed, thread, 'decide', toolCallId, round);
  const mood = random(crowd.seed, thread, 'mood', toolCallId);
  if (!crowd.calm && dueAt && mood.chance(0.35)) return;
  const common = { thread, toolCallId, signal: rng.chance(0.25), twice: rng.chance(0.1) };
  if (kind === 'reply') {
    const messageId = `reply-${toolCallId}-${round}`.replace(/[^\w.:-]/g, '');
    return void (await ask(crowd, { ...common, kind: 'message', name: 'sendMessage', messageId, mark: messageId }, () => ({
      input: `A reply to ${toolCallId}`,
      id: messageId,
      correlationId: toolCallId,
    })));
  }
  if (kind === 'question' || kind === 'output') {
    const isError = rng.chance(0.1);
    // A call that a limit hands out must be answered by its approvers; now and then someone else tries.
    const groups = rng.chance(0.9) ? ['leads'] : [];
    return void (await ask(crowd, { ...common, kind: 'output', name: 'submitToolOutputs', by: 'ann' }, (mark) => ({
      outputs: [{ toolCallId, output: `answered ${mark}`, ...(isError && { isError }) }],
      by: 'ann',
      groups,
    })));
  }
  const approved = crowd.calm ? mood.chance(0.8) : rng.chance(0.75);
  const by = rng.pick(['ann', 'bob', 'cyd'].filter((name) => !votes.includes(name)));
  const edited = approved && kind === 'approval' && approvers === 1 && rng.chance(0.15);
  const more = {
    ...(edited && { arguments: { n: nOf(call), ms: 3, edited: 'yes' } }),
    ...(approved && kind === 'approval' && approvers === 1 && !edited && rng.chance(0.05) && { remember: 'thread' as const }),
    ...(!approved && kind === 'approval' && rng.chance(0.1) && { stop: true }),
  };
  // Now and then someone who is not entitled to decide.
  const groups = rng.chance(0.9) ? ['leads'] : [];
  await ask(crowd, { ...common, kind: 'decision', name: 'approve', approved, by, edited }, (mark) => ({
    toolCallId,
    approved,
    by,
    groups,
    reason: mark,
    ...more,
  }));
}

function nOf({ arguments: text }: PendingCall): string {
  try {
    return String((JSON.parse(text) as { n?: unknown }).n ?? '');
  } catch {
    return '';
  }
}
