import { detailsOf } from '../client/errors';

/** The exit codes of the commands. */
export const exit = {
  ok: 0,
  /** The run failed, reached a limit or was ended from outside; or the command itself failed. */
  failed: 1,
  /** The command line is invalid. Nothing was done. */
  usage: 2,
  /** The run waits for a person or a reply, or is paused, and nobody can be asked. The thread remains. */
  waits: 3,
  /** For `replay`: there was no history to check the code against. */
  nothing: 3,
  /** The run was cancelled, or the reader left it with Ctrl-C. */
  interrupted: 130,
} as const;

/** The command line is invalid. The message says why, and how to correct it. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The text of an error for a person: one line, no stack, and the command line's names for fields. */
export function lineOf(error: unknown, command?: string): string {
  const { name, message } = error as Error;
  const isOurs = name === 'LonghaulError';
  // Temporal's client wraps the server's message in an error that says only which call failed.
  const said = isOurs ? undefined : detailsOf(error);
  const own = isOurs ? asCommand(message, command) : (message ?? String(error));
  const words = said === undefined || own.includes(said) ? (said ?? own) : `${own}: ${said}`;
  // Lists in the message become parts of its sentence.
  return words
    .replace(/:\s*\n\s*- /g, ': ')
    .replace(/\s*\n\s*- /g, '; ')
    .replace(/\s*\n\s*/g, ' ')
    .trim();
}

/** A `LonghaulError` begins with the method that was called, and has fields of requests in backticks. */
function asCommand(message: string, command: string | undefined): string {
  const named = command ? message.replace(/^[a-z]\w*(?=: | was refused by | was not sent to )/, command) : message;
  return named.replace(/`([^`]+)`/g, (field, name) => options.get(name) ?? field);
}

const options = new Map([
  ['arguments', '--arguments'],
  ['by', '--by'],
  ['delivery: "after-run"', '--after-run'],
  ['expect', '--expect'],
  ['groups', '--group'],
  ['id', '--id'],
  ['more', '--more'],
  ['reason', '--reason'],
  ['remember', '--remember'],
]);

export function exitCodeOf(error: unknown): number {
  const { name, code } = error as { name?: string; code?: unknown };
  if (name === 'UsageError' || (name === 'LonghaulError' && code === 'invalid-input')) return exit.usage;
  if (name === 'LonghaulError' && code === 'run-cancelled') return exit.interrupted;
  return exit.failed;
}
