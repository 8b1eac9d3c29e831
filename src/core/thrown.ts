import { bounds } from './bounds';
import { writeJson } from './write-json';

/** What can be said of a thrown value. */
export interface ThrownFacts {
  name: string;
  message: string;
  stack?: string;
  cause?: unknown;
}

/**
 * Name, message, stack and cause of whatever was thrown. Never throws itself: code of a user's may throw `null`, a number, an object
 * whose `message` is a getter that throws, or a proxy that refuses everything.
 */
export function factsOfThrown(thrown: unknown): ThrownFacts {
  if (typeof thrown === 'string') return { name: 'Error', message: thrown };
  if ((typeof thrown !== 'object' && typeof thrown !== 'function') || thrown === null) {
    return { name: 'Error', message: String(thrown) };
  }
  const read = (field: string): unknown => {
    try {
      return (thrown as Record<string, unknown>)[field];
    } catch {
      return undefined;
    }
  };
  const [name, message, stack, cause] = ['name', 'message', 'stack', 'cause'].map(read);
  return {
    name: typeof name === 'string' && name !== '' ? name : 'Error',
    message: typeof message === 'string' && message !== '' ? message : (asText(thrown) ?? 'It failed without saying why.'),
    ...(typeof stack === 'string' && { stack }),
    ...(cause !== undefined && cause !== null && { cause }),
  };
}

/** The message of whatever was thrown. */
export function messageOfThrown(thrown: unknown): string {
  return factsOfThrown(thrown).message;
}

function asText(thrown: object): string | undefined {
  try {
    const { text } = writeJson(thrown, bounds.failureMessageChars) ?? { text: '{}' };
    return text === '{}' || text === '[]' ? undefined : text;
  } catch {
    return undefined;
  }
}
