import type { DurableEventData, FailureDetails } from '../../core/event';
import type { FailedAttempt } from '../../core/failure';
import type { EmitOneRing } from './events';
import type { OneRingError, OneRingResponse } from './shapes';

/** The model call of an iteration. Each reported request gets an answer or an error. */
export class OneRingModelCall {
  #open = false;
  #iteration = 0;
  /** Errors of `after:llm` hooks, which are recorded before the answer that the hooks received. */
  #held: DurableEventData['agent.hook.completed'] | undefined;

  constructor(readonly emit: EmitOneRing) {}

  request(iteration: number, model: string | undefined): void {
    if (this.#open) return;
    this.#open = true;
    this.#iteration = iteration;
    this.emit('llm:request', { iteration, options: model ? { model } : {} });
  }

  response(said: OneRingResponse, duration: number): void {
    this.emit('llm:response', { iteration: this.#iteration, response: said, duration });
    this.#close();
  }

  error(error: OneRingError): void {
    if (!this.#open) return;
    this.emit('llm:error', { iteration: this.#iteration, error });
    this.#close();
  }

  retries(attempts: readonly FailedAttempt[] = [], maxAttempts?: number): void {
    for (const [i, { kind, message, waitMs: delayMs = 0 }] of attempts.entries()) {
      const words = { attempt: i + 1, ...(maxAttempts !== undefined && { maxAttempts }), reason: `${kind}: ${message}` };
      this.emit('execution:retry', { ...words, delayMs });
    }
  }

  /** Reports the attempts of a failed run. The last attempt is the failure itself and was not retried. */
  failedAttempts({ attempts, maxAttempts }: FailureDetails = {}): void {
    if (this.#open) this.retries(attempts?.slice(0, -1), maxAttempts);
  }

  hook(data: DurableEventData['agent.hook.completed']): void {
    if (data.hook === 'after:llm' && this.#open) this.#held = data;
    else this.#hookErrors(data);
  }

  #close(): void {
    this.#open = false;
    const held = this.#held;
    this.#held = undefined;
    if (held) this.#hookErrors(held);
  }

  #hookErrors({ hook: hookName, errors = [] }: DurableEventData['agent.hook.completed']): void {
    for (const { id, message, consecutive } of errors) {
      this.emit('hook:error', { hookName, error: { name: 'HookError', message: `${id}: ${message}` }, consecutiveErrors: consecutive });
    }
  }
}
