import { ApplicationFailure } from '@temporalio/workflow';
import { isRefusalCode, type Refusal, type RefusalCode, refusal } from '../core/refusal';
import { messageOfThrown } from '../core/thrown';

/** Throws the refusal of a request. The failure's type is the code, which clients in every language can read. */
export function refuse(reason: string, code?: RefusalCode): never {
  throw failureOf(refusal(reason, code));
}

export function failureOf({ reason, code }: Refusal): ApplicationFailure {
  return ApplicationFailure.nonRetryable(reason, code);
}

/** Converts an error thrown while a request was handled to a refusal, with the code `failed` if it has none. */
export function refusalOf(error: unknown): Refusal {
  const code = error instanceof ApplicationFailure && isRefusalCode(error.type) ? error.type : 'failed';
  return { code, reason: messageOfThrown(error) };
}
