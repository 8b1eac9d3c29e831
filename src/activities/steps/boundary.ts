import { ApplicationFailure, CancelledFailure, CompleteAsyncError } from '@temporalio/activity';
import type { Duration } from '@temporalio/common';
import { type Activities, failureTypes } from '../../contract/activities';
import { decodeFailureOf } from '../../contract/undecodable';
import { bounds } from '../../core/bounds';
import { bytesOf } from '../../core/context/carry';
import { shortText } from '../../core/text';
import { factsOfThrown } from '../../core/thrown';

type Activity = (...args: never[]) => Promise<unknown>;

/** For the error message if an activity's result is too large: what it is, how to reduce it, and the maximum. */
const results: { [N in keyof Activities]: { what: string; remedy: string; max: number } } = {
  resolveAgent: { what: "The agent's facts", remedy: 'shorten its texts', max: bounds.factsBytes },
  callModel: {
    what: "The model's answer",
    remedy: 'bound it with settings.maxTokens, or have the model write what is long with a tool',
    max: bounds.answerBytes,
  },
  runTool: { what: "The tool's result", remedy: 'return less, or a reference to it', max: bounds.resultBytes },
  compensateTool: { what: 'The result', remedy: 'return less', max: bounds.resultBytes },
  checkArguments: { what: 'The check of the arguments', remedy: 'shorten its messages', max: bounds.resultBytes },
  verifyDecision: { what: "The verifier's answer", remedy: 'name fewer groups', max: bounds.askBytes },
  runHooks: { what: "The hooks' answer", remedy: 'return less', max: bounds.resultBytes },
  rememberRules: { what: 'The result', remedy: 'return less', max: bounds.resultBytes },
  archiveMessages: { what: 'The result', remedy: 'return less', max: bounds.resultBytes },
  awaitCall: { what: "The tool's result", remedy: 'return less, or a reference to it', max: bounds.resultBytes + 1_000 },
  readClosed: { what: 'The state of the closed thread', remedy: 'start a new thread', max: bounds.carriedBytes },
  requestCancel: { what: 'The result', remedy: 'return less', max: bounds.resultBytes },
};

/**
 * The boundary between the activities and the server. Everything that user code throws becomes an `ApplicationFailure`. A result that is too large
 * for a payload fails the step without retries: the next attempt's result would be as large, and a model call would be paid for again.
 */
export function withBoundary(activities: Activities): Activities {
  const bounded = Object.entries(activities).map(([name, activity]) => [name, guarded(name as keyof Activities, activity as Activity)]);
  return Object.fromEntries(bounded) as Activities;
}

function guarded(name: keyof Activities, activity: Activity): Activity {
  return async (...args) => {
    const unreadable = args.map(decodeFailureOf).find((reason) => reason !== undefined);
    if (unreadable !== undefined) {
      throw ApplicationFailure.nonRetryable(`The arguments of ${name} can't be read: ${unreadable}`, failureTypes.invalidInput);
    }
    let result: unknown;
    try {
      result = await activity(...args);
    } catch (error) {
      throw asFailure(error);
    }
    const bytes = sizeOf(name, result);
    const { what, remedy, max } = results[name];
    if (bytes <= max) return result;
    throw ApplicationFailure.nonRetryable(
      `${what} has ${bytes} bytes of JSON; at most ${max} fit into a thread: ${remedy}`,
      failureTypes.tooLarge,
    );
  };
}

function sizeOf(name: string, result: unknown): number {
  try {
    return bytesOf(result);
  } catch (error) {
    const why = factsOfThrown(error).message;
    throw ApplicationFailure.nonRetryable(`The result of ${name} can't be written as JSON: ${why}`, failureTypes.notJson);
  }
}

/** Converts a thrown value to an `ApplicationFailure` with well-formed, bounded text. Keeps the other fields if it is one already. */
function asFailure(thrown: unknown, causesLeft: number = bounds.failureCauses): unknown {
  if (isKnown(thrown)) return thrown;
  const { name, message, stack = '', cause } = factsOfThrown(thrown);
  const { type = name, ...terms } = termsOf(thrown);
  const failure = ApplicationFailure.create({
    ...terms,
    type: shortText(type === failureTypes.keyUnavailable ? keyUnavailableInside : type, bounds.failureTypeChars),
    message: shortText(message, bounds.failureMessageChars),
    ...(cause !== undefined && causesLeft > 0 && { cause: asFailure(cause, causesLeft - 1) as Error }),
  });
  failure.stack = shortText(stack, bounds.failureStackChars);
  return failure;
}

/** `keyUnavailable` means that the step did not begin, which only the SDK may report: it decodes the arguments before it calls the activity. */
const keyUnavailableInside = `${failureTypes.keyUnavailable}InStep`;

/** Whether Temporal handles the error itself: a cancellation, or an activity that another process completes. */
function isKnown(thrown: unknown): boolean {
  try {
    if (thrown instanceof CancelledFailure || thrown instanceof CompleteAsyncError) return true;
    // The SDK, too, recognizes it by its name.
    return (thrown as Error | null)?.name === 'AbortError';
  } catch {
    return false;
  }
}

type Terms = Pick<Parameters<typeof ApplicationFailure.create>[0], 'nonRetryable' | 'details' | 'nextRetryDelay' | 'category'> & {
  type?: string;
};

/** The fields of an `ApplicationFailure` for retries and for the workflow. */
function termsOf(thrown: unknown): Terms {
  try {
    if (!(thrown instanceof ApplicationFailure)) return {};
    const { type, nonRetryable, details, nextRetryDelay, category } = thrown;
    return {
      ...(type && { type }),
      nonRetryable: nonRetryable ?? false,
      ...(details && { details }),
      ...(isDelay(nextRetryDelay) && { nextRetryDelay }),
      ...(category && { category }),
    };
  } catch {
    return {};
  }
}

function isDelay(value: unknown): value is Duration {
  return typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value) && value > 0);
}
