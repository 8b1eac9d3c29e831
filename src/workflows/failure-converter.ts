import { DefaultFailureConverter, type FailureConverter, type Payload, type ProtoFailure } from '@temporalio/common';
import { bounds } from '../core/bounds';
import { shortText } from '../core/text';
import { factsOfThrown } from '../core/thrown';

/**
 * Wraps a failure converter, so that every failure that leaves a worker is well formed and bounded: of activities, of the workflow, of
 * refused updates and failed queries. A text under 40 characters with half a surrogate pair is written as invalid UTF-8 by protobufjs, the
 * SDK's core can't read the completion, and the worker ends; so does the next one that tries the same activity.
 */
export function boundFailures(inner: FailureConverter): FailureConverter {
  return {
    errorToFailure(error, payloadConverter, context) {
      return boundFailure(converted(error, () => inner.errorToFailure(error, payloadConverter, context)));
    },
    failureToError: (failure, payloadConverter, context) => inner.failureToError(failure, payloadConverter, context),
  };
}

/** Loaded by its path, inside the workflow sandbox too. */
export const failureConverter = boundFailures(new DefaultFailureConverter());

/** What can't be converted (a proxy, a circle of causes, details that are no JSON) is told by its words. */
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

/** A copy: the failure of an error that came from the server is that error's own. */
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

/** All of the details or none: half of them would be read as something else. */
function boundDetails<D extends { payloads?: Payload[] | null }>(details: D | null | undefined): D | undefined {
  const bytes = (details?.payloads ?? []).reduce((sum, { data }) => sum + (data?.length ?? 0), 0);
  return details && bytes <= bounds.failureDetailsBytes ? details : undefined;
}
