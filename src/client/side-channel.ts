import type { DurableEvent, EphemeralEvent } from '../core/event';
import type { StreamBus } from '../stream/stream-bus';

/** Live events of a step may arrive before the event that the step began. They are held back for at most this long. */
const longestHoldMs = 10_000;

/** Orders the live events of the bus: those of a step come after the log's event that the step began. */
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
    const taken = this.#events.splice(0, held === -1 ? this.#events.length : held);
    // If the log did not report a step's beginning in time, only its first live event is delayed.
    for (const { step, at } of taken) if (Date.now() >= at + longestHoldMs) this.#begun.add(step);
    return taken.map(({ event }) => event);
  }

  /** Until when an event is held back, unless the log reports the step earlier. Milliseconds since 1970; infinite if none is held back. */
  heldUntil(): number {
    const [first] = this.#events;
    return first && this.#isHeld(first) ? first.at + longestHoldMs : Number.POSITIVE_INFINITY;
  }

  /** Call this before a read of the log, and the returned function after it, if nothing was left out: the log has then reported all steps with earlier live events. */
  reading(): () => void {
    const heard = this.#events.map(({ step }) => step);
    return () => {
      for (const step of heard) this.#begun.add(step);
    };
  }

  /** Takes in what the log reports about steps. */
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

/** Wakes a loop that waits for several things. A call that came while it did not wait wakes it immediately. */
export class Alarm {
  #called = false;
  #ring: () => void = () => undefined;

  readonly call = (): void => {
    this.#called = true;
    this.#ring();
  };

  /** Waits until it is called, or until a time in milliseconds since 1970. */
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
