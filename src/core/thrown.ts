import { bounds } from './bounds';
import { writeJson } from './write-json';

/** The readable parts of a thrown value. */
export interface ThrownFacts {
  name: string;
  message: string;
  stack?: string;
  cause?: unknown;
}

/**
 * Returns name, message, stack and cause of any thrown value. Never throws: user code may throw `null`, a number, an object whose `message` is
 * a getter that throws, or a proxy whose traps all throw.
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
    message: typeof message === 'string' && message !== '' ? message : (asText(thrown) ?? 'It failed without an error message.'),
    ...(typeof stack === 'string' && { stack }),
    ...(cause !== undefined && cause !== null && { cause }),
  };
}

/** Returns the message of any thrown value. */
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
