import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import type { Writable } from 'node:stream';
import { withLimitedReaders } from '../permissions/limited-readers';
import { OutputWindow } from '../running/output-window';
import { type CommandLimits, limitReached, setLimits } from './command-limits';
import { askToEnd, CommandProcesses, signalGroup } from './command-processes';
import type { Confinement } from './sandbox/sandbox';
import { watched } from './watcher';

export interface ShellCommand {
  command: string;
  /** Absolute; must exist. */
  cwd: string;
  env: Record<string, string | undefined>;
  /** Default: none. */
  timeoutMs?: number;
  maxOutputBytes: number;
  /** Stderr is returned by itself. Default: both together, in their order. */
  separate?: true;
  signal: AbortSignal;
  limits?: CommandLimits;
  /** What programs of a pipeline that only read may allocate together. Default: as in the foreground. */
  readersMemoryMb?: number;
  /** Default: the command's input is empty. */
  takesInput?: true;
  onOutput?(chunk: Buffer): void;
  /** Default: new ones. */
  processes?: CommandProcesses;
  /** Starts it in a sandbox. */
  confined?: Confine;
}

/** Gives `start` what it needs to start a command in a sandbox. */
export type Confine = <T>(start: (confinement: Confinement) => T) => T;

export interface ShellResult {
  /** stdout and stderr in the order in which they were written; stdout alone if they are separate. */
  output: string;
  /** Only if they are separate. */
  errors?: string;
  /** As in a shell: 128 + n if signal n ended it. */
  exitCode: number;
  stopped?: 'timeout' | 'abort' | 'processes';
  /** Which limit the command has reached, as a clause, as far as that is known. */
  limit?: string;
}

/** A command under way. `pid`: of its group's leader; `undefined` if it could not be started. */
export interface RunningShell {
  pid: number | undefined;
  input: Writable | null;
  processes: CommandProcesses;
  /** Rejects only if the command can't be started. */
  ended: Promise<ShellResult>;
}

/** Time between SIGTERM and SIGKILL. Shorter than the time that the toolbox waits for a tool's last output. */
const killGraceMs = 1_500;
/** Time for a background process that still holds the output open after its shell has ended. */
const drainMs = 200;

/** In which a program says that it got no memory. */
const tailBytes = 1_000;

/** How often the command's processes are listed, to find those that leave its group. */
const lookEveryMs = 200;

/**
 * Joins both outputs into one pipe, which keeps their order, unless they are separate, and replaces itself by the real shell or its sandbox, which
 * have the marks.
 */
const outerShell = ({ limits = {}, separate }: ShellCommand) => `${watched}
  watched "$1" "$2"
  shift 2
  ${setLimits(limits)}
  exec "$@"${separate ? '' : ' 2>&1'}`;

/** Runs a command to its end. Rejects only if it can't be started. */
export function runShell(spec: ShellCommand): Promise<ShellResult> {
  return startShell(spec).ended;
}

/** Starts a command in its own process group. When the shell ends, its remaining processes are killed, also those that left the group. */
export function startShell(spec: ShellCommand): RunningShell {
  const { processes = new CommandProcesses() } = spec;
  const shell = ['-c', outerShell(spec), 'longhaul', processes.mark, processes.limit];
  const inner = [...bash(), '-c', withLimitedReaders(spec.command, spec.readersMemoryMb)];
  const start = ({ command, handles }: Confinement) =>
    spawn('/bin/sh', [...shell, ...command, ...inner], {
      cwd: spec.cwd,
      env: spec.env,
      detached: true,
      stdio: [spec.takesInput ? 'pipe' : 'ignore', 'pipe', spec.separate ? 'pipe' : 'ignore', 'pipe', ...handles],
    });
  const child = spec.confined ? spec.confined(start) : start({ command: [], handles: [] });
  return { pid: child.pid, input: child.stdin, processes, ended: endOf(child, processes, spec) };
}

function endOf(child: ChildProcess, processes: CommandProcesses, spec: ShellCommand): Promise<ShellResult> {
  return new Promise((done, fail) => {
    const windowBytes = spec.separate ? Math.floor(spec.maxOutputBytes / 2) : spec.maxOutputBytes;
    const [window, errors] = [new OutputWindow(windowBytes), spec.separate && new OutputWindow(windowBytes)];
    let tail = Buffer.alloc(0);
    // An error of a pipe without a listener would end this process; the result of the command is known when it exits. A command that could not be
    // started may have no pipes.
    for (const pipe of child.stdio ?? []) pipe?.on('error', () => {});
    const take = (into: OutputWindow | undefined, chunk: Buffer) => {
      into?.add(chunk);
      tail = Buffer.concat([tail, chunk.subarray(-tailBytes)]).subarray(-tailBytes);
      try {
        spec.onOutput?.(chunk);
      } catch {
        // An error of the listener must end neither the command nor this process.
      }
    };
    child.stdout?.on('data', (chunk: Buffer) => take(window, chunk));
    child.stderr?.on('data', (chunk: Buffer) => take(errors, chunk));
    const stop = stopper(child, spec.confined !== undefined);
    const timer = spec.timeoutMs === undefined ? undefined : setTimeout(() => stop.now('timeout'), Math.ceil(spec.timeoutMs));
    const looks = setInterval(() => {
      if (child.pid === undefined) return;
      processes.look(child.pid);
      if (processes.count > (spec.limits?.processes ?? Number.POSITIVE_INFINITY)) stop.now('processes');
    }, lookEveryMs);
    const onAbort = () => stop.now('abort');
    if (spec.signal.aborted) onAbort();
    spec.signal.addEventListener('abort', onAbort, { once: true });
    let lastCall: NodeJS.Timeout | undefined;
    const settle = () => {
      clearTimeout(timer);
      clearInterval(looks);
      clearTimeout(lastCall);
      spec.signal.removeEventListener('abort', onAbort);
      stop.end();
      child.stdin?.destroy();
      child.stdout?.destroy();
      child.stderr?.destroy();
    };

    child.once('error', (error) => {
      settle();
      fail(error);
    });
    child.once('exit', (code, signal) => {
      clearTimeout(timer);
      const exitCode = code ?? 128 + (signal ? constants.signals[signal] : 0);
      const finish = async () => {
        settle();
        await processes.end();
        const stopped = stop.why();
        const limit = limitReached({ exitCode, stopped, tail: tail.toString() }, spec);
        return {
          output: window.text(),
          ...(errors && { errors: errors.text() }),
          exitCode,
          ...(stopped && { stopped }),
          ...(limit !== undefined && { limit }),
        };
      };
      const atClose = () => done(finish());
      // A background process may hold the pipe open forever. It gets a SIGTERM, and a short time to end.
      child.once('close', atClose);
      signalGroup(child.pid, 'SIGTERM');
      lastCall = setTimeout(
        () => {
          child.off('close', atClose);
          atClose();
        },
        stop.why() ? killGraceMs : drainMs,
      );
    });
  });
}

function stopper({ pid }: ChildProcess, isConfined: boolean) {
  let why: ShellResult['stopped'];
  let force: NodeJS.Timeout | undefined;
  return {
    why: () => why,
    now(reason: NonNullable<ShellResult['stopped']>) {
      if (why) return;
      why = reason;
      if (pid !== undefined) askToEnd(pid, isConfined);
      force = setTimeout(() => signalGroup(pid, 'SIGKILL'), killGraceMs);
    },
    end() {
      clearTimeout(force);
      signalGroup(pid, 'SIGKILL');
    },
  };
}

/** Node's pipes are sockets, and bash takes a socket as its input for a remote login, for which it would run ~/.bashrc. */
function bash(): string[] {
  return existsSync('/bin/bash') ? ['/bin/bash', '--norc'] : ['/bin/sh'];
}
