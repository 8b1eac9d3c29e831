import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { CommandProcesses, markName } from './command-processes';
import { OutputWindow } from './output-window';

export interface ShellCommand {
  command: string;
  /** Absolute; must exist. */
  cwd: string;
  env: Record<string, string | undefined>;
  timeoutMs: number;
  maxOutputBytes: number;
  signal: AbortSignal;
  onOutput?(chunk: Buffer): void;
}

export interface ShellResult {
  /** stdout and stderr in the order they were written. */
  output: string;
  /** As a shell counts it: 128 + n when signal n ended it. */
  exitCode: number;
  stopped?: 'timeout' | 'abort';
}

/** Between asking a group to end and making it. Shorter than what the toolbox waits for last words. */
const killGraceMs = 1_500;
/** What a background process that holds the output open still gets after its shell has ended. */
const drainMs = 200;

/** How often its processes are looked at, to know those that leave its group. */
const lookEveryMs = 200;

/**
 * Joins both outputs into one pipe, which keeps their order, and replaces itself by the real shell, which is marked. Beside it waits a
 * watcher on a pipe whose other end is ours: when this process dies, however suddenly, the pipe closes, and the watcher kills what has the
 * mark, until there is no more of it, and the group, itself included.
 */
const outerShell = `
  ends_marked() {
    found=1
    for file in /proc/[0-9]*/environ; do
      grep -qs "${markName}=$1" "$file" || continue
      pid=\${file#/proc/}
      kill -9 "\${pid%/environ}" && found=0
    done
    return $found
  }
  (read -r _ <&3; while ends_marked "$2"; do :; done; kill -9 0) >/dev/null 2>&1 &
  exec 3<&-
  export ${markName}="$2"
  exec "$0" -c "$1" 2>&1`;

/**
 * Runs a command in a process group of its own; whatever is left of it when the shell ends is killed, also what left the group. Rejects
 * only if it can't be started.
 */
export function runShell(spec: ShellCommand): Promise<ShellResult> {
  return new Promise((done, fail) => {
    const processes = new CommandProcesses();
    const child = spawn('/bin/sh', ['-c', outerShell, bash(), spec.command, processes.mark], {
      cwd: spec.cwd,
      env: spec.env,
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
    });
    const window = new OutputWindow(spec.maxOutputBytes);
    child.stdout?.on('data', (chunk: Buffer) => {
      window.add(chunk);
      spec.onOutput?.(chunk);
    });
    const stop = stopper(child);
    const timer = setTimeout(() => stop.now('timeout'), Math.ceil(spec.timeoutMs));
    const looks = setInterval(() => child.pid !== undefined && processes.look(child.pid), lookEveryMs);
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
      child.stdout?.destroy();
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
        done({ output: window.text(), exitCode, ...(stopped && { stopped }) });
      };
      // A background process may hold the pipe open for ever. It is told to end, and not waited for beyond a moment.
      child.once('close', finish);
      signalGroup(child, 'SIGTERM');
      lastCall = setTimeout(
        () => {
          child.off('close', finish);
          void finish();
        },
        stop.why() ? killGraceMs : drainMs,
      );
    });
  });
}

function stopper(child: ChildProcess) {
  let why: ShellResult['stopped'];
  let force: NodeJS.Timeout | undefined;
  return {
    why: () => why,
    now(reason: NonNullable<ShellResult['stopped']>) {
      if (why) return;
      why = reason;
      signalGroup(child, 'SIGTERM');
      force = setTimeout(() => signalGroup(child, 'SIGKILL'), killGraceMs);
    },
    end() {
      clearTimeout(force);
      signalGroup(child, 'SIGKILL');
    },
  };
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // Nobody left in the group: what was wanted.
  }
}

function bash(): string {
  return existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh';
}
