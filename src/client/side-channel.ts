import type { DurableEvent, EphemeralEvent } from '../core/event';
import type { StreamBus } from '../stream/stream-bus';

/** A step is heard of before the history tells that the log has its beginning; what is heard is held back for so long at most. */
const longestHoldMs = 500;

/** What the bus brings, in order, each step's after the log has told that it began. */
export class SideChannel {
  readonly #events: { event: EphemeralEvent; step: string; at: number }[] = [];
  readonly #begun = new Set<string>();
  readonly close: () => void;

  constructor(bus: StreamBus | undefined, threadId: string, wake: () => void) {
    const stop = bus?.subscribe(threadId, (item) => {
      if (item.kind !== 'event') return;
      this.#events.push({ event: item.event, step: stepOf(item.event), at: Date.now() });
      wake();
    });
    this.close = () => stop?.();
  }

  take(): EphemeralEvent[] {
    const held = this.#events.findIndex((heard) => this.#isHeld(heard));
    return this.#events.splice(0, held === -1 ? this.#events.length : held).map(({ event }) => event);
  }

  /** Until when something is held back, unless the log tells before. Milliseconds since 1970; infinite where nothing is. */
  heldUntil(): number {
    const [first] = this.#events;
    return first && this.#isHeld(first) ? first.at + longestHoldMs : Number.POSITIVE_INFINITY;
  }

  /** Before the log is read: the returned function says that it was, and so the beginnings of all steps that were heard of before. */
  reading(): () => void {
    const heard = this.#events.map(({ step }) => step);
    return () => {
      for (const step of heard) this.#begun.add(step);
    };
  }

  /** What the log says of steps. */
  told({ type, data }: DurableEvent): void {
    if (type === 'thread.message.created' && data.inProgress) this.#begun.add(data.message.id);
    if (type === 'agent.tool.execution.started') this.#begun.add(data.toolCallId);
    if (type === 'thread.message.completed') this.#begun.delete(data.message.id);
    if (type === 'agent.tool.execution.completed') this.#begun.delete(data.toolCallId);
  }

  #isHeld({ step, at }: { step: string; at: number }): boolean {
    return step !== '' && !this.#begun.has(step) && Date.now() < at + longestHoldMs;
  }
}

function stepOf({ type, data }: EphemeralEvent): string {
  if (type === 'thread.message.delta') return data.messageId;
  return type === 'agent.tool.progress' ? data.toolCallId : '';
}

/** Wakes a loop that waits for several things. What called while it did not wait wakes it at once. */
export class Alarm {
  #called = false;
  #ring: () => void = () => undefined;

  readonly call = (): void => {
    this.#called = true;
    this.#ring();
  };

  /** Until it is called, or until a moment in milliseconds since 1970. */
  async until(at: number): Promise<void> {
    const ms = at - Date.now();
    if (!this.#called && ms > 0) {
      await new Promise<void>((resolve) => {
        const timer = Number.isFinite(ms) ? setTimeout(resolve, Math.min(ms, 2 ** 31 - 1)) : undefined;
        this.#ring = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#ring = () => undefined;
    this.#called = false;
  }
}
