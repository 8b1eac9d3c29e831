import { constants } from 'node:os';
import { isObject } from '../../core/json';
import { readersLimits } from '../permissions/limited-readers';

/** Limits of the commands of a tool, on Linux: whole numbers above 0. Default: none. */
export interface CommandLimits {
  /** The memory that one process allocates, in MiB. Files that it maps and memory that it shares don't count. */
  memoryMb?: number | undefined;
  /** CPU time of one process, in seconds. */
  cpuSeconds?: number | undefined;
  /** The size of a file that is written, in MiB. */
  fileMb?: number | undefined;
  /** The processes of one command that run at the same time, counted five times a second. */
  processes?: number | undefined;
}

export const limitNames = ['memoryMb', 'cpuSeconds', 'fileMb', 'processes'] as const satisfies readonly (keyof CommandLimits)[];

/** Throws `TypeError` that names every problem of the setting. */
export function checkLimits(limits: CommandLimits): CommandLimits {
  if (!isObject(limits)) throw new TypeError(`limits: is ${JSON.stringify(limits)}; give an object such as { memoryMb: 4096 }.`);
  const problems = Object.entries(limits).flatMap(([name, value]) => {
    if (!limitNames.some((known) => known === name)) return [`has the unknown key '${name}'; there are ${limitNames.join(', ')}`];
    const isSound = value === undefined || (Number.isInteger(value) && Number(value) > 0 && Number(value) < 1e9);
    return isSound ? [] : [`${name} is ${JSON.stringify(value)}; give a whole number from 1 to 999999999`];
  });
  if (problems.length > 0) throw new TypeError(`limits: ${problems.join('; ')}.`);
  return limits;
}

/** A process that ignores the first signal gets another one each second, and is killed after this time. */
const killedAfterSeconds = 5;

/** Commands for a POSIX shell that set the limits of its process. A lower limit of an outer process remains. */
export function setLimits({ memoryMb, cpuSeconds, fileMb }: CommandLimits): string {
  return [
    // Of memory, not of addresses: Node, Java and Go reserve more addresses than they use.
    ...(memoryMb ? [`ulimit -d ${memoryMb * 1024}`] : []),
    ...(cpuSeconds ? [`ulimit -S -t ${cpuSeconds}`, `ulimit -H -t ${cpuSeconds + killedAfterSeconds}`] : []),
    // In blocks of 512 bytes.
    ...(fileMb ? [`ulimit -f ${fileMb * 2048}`] : []),
  ]
    .map((command) => `${command} 2>/dev/null || :`)
    .join('\n');
}

/** How programs say that they could not get memory. */
const withoutMemory =
  /memory exhausted|exhausted memory|out of memory|(can'?t|cannot|could ?n.t|unable to) (re-?)?allocate|memory allocation of|allocation failed|heap limit|bad_alloc|MemoryError/i;

interface Ended {
  exitCode: number;
  stopped: string | undefined;
  /** The last output. */
  tail: string;
}

/**
 * Says which limit a command that failed has reached, as far as its exit code and its last output tell; `undefined` if none. Programs that only read
 * have limits also without a setting.
 */
export function limitReached(
  { exitCode, stopped, tail }: Ended,
  { limits = {}, readersMemoryMb = readersLimits.memoryMb }: { limits?: CommandLimits; readersMemoryMb?: number },
): string | undefined {
  if (stopped === 'processes') return `the command had more than ${limits.processes} processes, its limit, and was ended`;
  const { memoryMb, cpuSeconds = readersLimits.cpuSeconds, fileMb = readersLimits.fileMb } = limits;
  if (exitCode === 128 + constants.signals.SIGXCPU)
    return `a program reached its limit of CPU time, ${cpuSeconds} s at most, and was ended`;
  if (exitCode === 128 + constants.signals.SIGXFSZ)
    return `a program reached the limit of the size of a file, ${fileMb} MiB at most, and was ended`;
  if (exitCode === 0 || !withoutMemory.test(tail)) return undefined;
  const others = memoryMb ? `; that of other programs is ${memoryMb} MiB` : '';
  return `a program may have reached its limit of memory. That of programs that only read is ${readersMemoryMb} MiB for all of a pipeline${others}`;
}
