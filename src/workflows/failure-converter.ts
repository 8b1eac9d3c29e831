import { DefaultFailureConverter, type FailureConverter, type Payload, type PayloadConverter, type ProtoFailure } from '@temporalio/common';
import { failureTypes } from '../contract/activities';
import { encodeFailures } from '../contract/encode-failures';
import { keyMissing } from '../contract/key-missing';
import { reopening } from '../contract/reopening';
import { replayFirst } from '../contract/replay-first';
import { bounds } from '../core/bounds';
import { shortText } from '../core/text';
import { factsOfThrown } from '../core/thrown';

/**
 * Wraps a failure converter, so that every failure that leaves a worker is well formed and bounded: of activities, of the workflow, of
 * rejected updates and of failed queries. protobufjs writes a text under 40 characters with half a surrogate pair as invalid UTF-8. The SDK's
 * core can't read such a completion, and the worker shuts down, as does the next one that tries the same activity.
 * `encode`: whether messages and stack traces are put into payloads, which a codec can encrypt.
 */
export function boundFailures(inner: FailureConverter, { encode }: { encode(): boolean }): FailureConverter {
  return {
    errorToFailure(error, payloadConverter, context) {
      const failure = boundFailure(converted(error, () => inner.errorToFailure(error, payloadConverter, context)));
      return encode() ? encodeTexts(failure, payloadConverter) : failure;
    },
    failureToError: (failure, payloadConverter, context) => inner.failureToError(failure, payloadConverter, context),
  };
}

/** Loaded by its path, also inside the workflow sandbox. */
export const failureConverter = boundFailures(new DefaultFailureConverter(), {
  encode: () => (globalThis as Record<string, unknown>)[encodeFailures] === true,
});

/**
 * Does what `DefaultFailureConverter` does with `encodeCommonAttributes`, but also for causes that came from elsewhere with readable texts, and without
 * changing the failure of the error, whose texts would be lost if it were converted twice.
 */
function encodeTexts(failure: ProtoFailure, payloadConverter: PayloadConverter): ProtoFailure {
  const { message, stackTrace, cause, encodedAttributes } = failure;
  if (staysReadable(failure)) return { ...failure, stackTrace: '', cause: undefined };
  const texts =
    encodedAttributes && message === encodedMessage ? encodedAttributes : payloadConverter.toPayload({ message, stack_trace: stackTrace });
  return {
    ...failure,
    message: encodedMessage,
    stackTrace: '',
    encodedAttributes: texts,
    cause: cause && encodeTexts(cause, payloadConverter),
  };
}

/**
 * Texts of the engine that say nothing about a thread. The client must be able to read them: the SDK does not decode the failure of a query, and a process
 * that lacks a key can't decode the failure that says so. The refusal of a query repeats a part of its argument, and is not stored.
 */
function staysReadable({ message, applicationFailureInfo }: ProtoFailure): boolean {
  const text = message ?? '';
  return (
    text === replayFirst || text === reopening || text.startsWith(keyMissing) || applicationFailureInfo?.type === failureTypes.queryRefused
  );
}

/** The message that Temporal's SDKs show in place of an encoded one. */
const encodedMessage = 'Encoded failure';

/** An error that can't be converted (a proxy, circular causes, details that are not JSON) is reduced to its message, stack and type. */
function converted(error: unknown, convert: () => ProtoFailure): ProtoFailure {
  try {
    return convert();
  } catch {
    const { name, message, stack = '' } = factsOfThrown(error);
    return {
      message,
      stackTrace: stack,
      source: 'TypeScriptSDK',
      applicationFailureInfo: { type: typeOf(error) ?? name, nonRetryable: isFinal(error) },
    };
  }
}

function typeOf(error: unknown): string | undefined {
  try {
    const { type } = error as { type?: unknown };
    return typeof type === 'string' ? type : undefined;
  } catch {
    return undefined;
  }
}

function isFinal(error: unknown): boolean {
  try {
    return (error as { nonRetryable?: unknown }).nonRetryable === true;
  } catch {
    return false;
  }
}

/** Returns a copy: the failure of an error that came from the server belongs to that error. */
function boundFailure(failure: ProtoFailure, causesLeft: number = bounds.failureCauses): ProtoFailure {
  const { message, stackTrace, source, cause, applicationFailureInfo, canceledFailureInfo, timeoutFailureInfo, activityFailureInfo } =
    failure;
  return {
    ...failure,
    ...(message && { message: shortText(message, bounds.failureMessageChars) }),
    ...(stackTrace && { stackTrace: shortText(stackTrace, bounds.failureStackChars) }),
    ...(source && { source: shortText(source, bounds.failureTypeChars) }),
    cause: cause && causesLeft > 0 ? boundFailure(cause, causesLeft - 1) : undefined,
    ...(applicationFailureInfo && {
      applicationFailureInfo: {
        ...applicationFailureInfo,
        ...(applicationFailureInfo.type && { type: shortText(applicationFailureInfo.type, bounds.failureTypeChars) }),
        details: boundDetails(applicationFailureInfo.details),
      },
    }),
    ...(canceledFailureInfo && { canceledFailureInfo: { ...canceledFailureInfo, details: boundDetails(canceledFailureInfo.details) } }),
    ...(timeoutFailureInfo && {
      timeoutFailureInfo: { ...timeoutFailureInfo, lastHeartbeatDetails: boundDetails(timeoutFailureInfo.lastHeartbeatDetails) },
    }),
    ...(activityFailureInfo && {
      activityFailureInfo: {
        ...activityFailureInfo,
        ...(activityFailureInfo.identity && { identity: shortText(activityFailureInfo.identity, bounds.failureTypeChars) }),
      },
    }),
  };
}

/** Keeps all details or none: a part of them would be misread. */
function boundDetails<D extends { payloads?: Payload[] | null }>(details: D | null | undefined): D | undefined {
  const bytes = (details?.payloads ?? []).reduce((sum, { data }) => sum + (data?.length ?? 0), 0);
  return details && bytes <= bounds.failureDetailsBytes ? details : undefined;
}
