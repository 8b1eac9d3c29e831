import { bounds } from '../../core/bounds';
import { onlyReads } from './harmless-commands';
import { readShellCommand, type SimpleCommand } from './shell-command';

/** `memoryMb`: what the programs of one pipeline may allocate together. The others are of each program; `sed -i` writes files. */
export const readersLimits = { memoryMb: 1024, cpuSeconds: 600, fileMb: 1024 };
/** `memoryMb` in the background, where several commands of a thread run at the same time: together they have what one has in the foreground. */
export const backgroundReadersMb = Math.floor(readersLimits.memoryMb / bounds.threadTasks);
/** Enough for any of them to start. */
const leastMb = 16;

const limited = 'longhaul_limited';

/**
 * Returns the command with limits for each program in it that runs without approval in a mode: they only read, but what they read and their arguments
 * may make them need any amount of memory. Wherever such a program stands in a command that is understood, also next to others, the shell function
 * that sets the limits precedes it. Other programs, and other commands, are unchanged.
 */
export function withLimitedReaders(command: string, memoryMb = readersLimits.memoryMb): string {
  const read = readShellCommand(command);
  const readers = read.understood ? read.commands.filter(({ words }) => onlyReads(words)) : [];
  if (!read.understood || readers.length === 0) return command;
  const { cpuSeconds, fileMb } = readersLimits;
  const kb = Math.max(leastMb, Math.floor(memoryMb / longestPipeline(read.commands))) * 1024;
  // The lower limits of an outer shell remain. An aborted program would write its memory to a file of the workspace.
  const limits = [`-d ${kb}`, `-S -t ${cpuSeconds}`, `-f ${fileMb * 1024}`, '-c 0'].map((limit) => `ulimit ${limit} 2>/dev/null;`);
  const parts = readers.reduceRight((text, { at }) => `${text.slice(0, at)}${limited} ${text.slice(at)}`, command);
  return `${limited}() (${limits.join(' ')} exec "$@"); ${parts}`;
}

function longestPipeline(commands: readonly SimpleCommand[]): number {
  let [longest, length] = [0, 0];
  for (const { piped } of commands) {
    length = piped ? length + 1 : 1;
    longest = Math.max(longest, length);
  }
  return longest;
}
