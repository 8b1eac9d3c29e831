/** What a command's exit code tells a script. */
export const exit = {
  ok: 0,
  /** The run failed, was ended by a limit or from outside; or the command itself failed. */
  failed: 1,
  /** The command line makes no sense. Nothing was done. */
  usage: 2,
  /** The run rests until a person answers, and nobody is there to ask. The thread stays. */
  waits: 3,
  /** The run was cancelled, or the reader left it with Ctrl-C. */
  interrupted: 130,
} as const;

/** The command line makes no sense: what about it, and what would. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** What a person reads of an error: one line, no stack. */
export function lineOf(error: unknown): string {
  const { message, details } = error as { message?: string; details?: unknown };
  // gRPC puts its number and name before the words, and the words alone into `details`.
  const words = typeof details === 'string' && details !== '' ? details : (message ?? String(error));
  return words.replace(/\s*\n\s*/g, ' ').trim();
}

export function exitCodeOf(error: unknown): number {
  const { name, code } = error as { name?: string; code?: unknown };
  if (name === 'UsageError' || (name === 'LonghaulError' && code === 'invalid-input')) return exit.usage;
  if (name === 'LonghaulError' && code === 'run-cancelled') return exit.interrupted;
  return exit.failed;
}
