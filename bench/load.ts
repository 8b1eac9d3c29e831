import { readFileSync } from 'node:fs';

/** CPU seconds that all processes have used since boot. Undefined if the system does not report them. */
function busySeconds(): number | undefined {
  try {
    const [, user = 0, nice = 0, system = 0, , , irq = 0, soft = 0, steal = 0] = (readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? '')
      .split(/\s+/)
      .map(Number);
    return (user + nice + system + irq + soft + steal) / 100;
  } catch {
    return undefined;
  }
}

export function cpuSecondsOf(pid: number | undefined): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return 0;
  }
}

/** Returns a function that gives the CPU used since by processes other than `pids` and this one, in percent of a core. Undefined if unknown. */
export function watchOthers(pids: (number | undefined)[]): () => number | undefined {
  const ours = () => [process.pid, ...pids].reduce((sum: number, pid) => sum + cpuSecondsOf(pid), 0);
  const [busy, own, at] = [busySeconds(), ours(), performance.now()];
  return () => {
    const nowBusy = busySeconds();
    if (busy === undefined || nowBusy === undefined) return undefined;
    return Math.round((100 * (nowBusy - busy - (ours() - own))) / ((performance.now() - at) / 1_000));
  };
}
