import { arm, disarm, disarmAll } from './kill-points';
import type { Fault } from './plan-faults';
import type { Rig } from './rig';

/** Injects the plan's faults, each at its time. Resolves after the last, when all their effects have been removed. */
export async function strike(rig: Rig, faults: readonly Fault[], ms: number, log: (line: string) => void): Promise<void> {
  const began = Date.now();
  const going: Promise<unknown>[] = [];
  for (const fault of faults) {
    await until(began + fault.at);
    log(`${((Date.now() - began) / 1_000).toFixed(1)} s ${words(fault)}`);
    going.push(one(rig, fault).catch((error: Error) => log(`${fault.kind}: ${error.message}`)));
  }
  await until(began + ms);
  disarmAll(rig.folder);
  for (const line of [...rig.lines, rig.peopleLine]) line.heal();
  await Promise.all(going);
}

function words({ at: _, kind, ...more }: Fault): string {
  return [kind, ...Object.entries(more).map(([name, value]) => `${name} ${value}`)].join(', ');
}

async function one(rig: Rig, fault: Fault): Promise<void> {
  const { pool } = rig;
  if ('burst' in fault && fault.burst) {
    // Requests of people coincide with the kill.
    rig.tellPeople('burst');
    await until(Date.now() + (fault.at % 25));
  }
  switch (fault.kind) {
    case 'kill':
      return pool.kill(fault.slot);
    case 'kill-all':
      for (const slot of rig.lines.keys()) pool.kill(slot);
      return;
    case 'kill-at': {
      arm(rig.folder, fault.point);
      await until(Date.now() + 6_000);
      // No process reached the point, so kill a worker, so that the number of kills stays as planned.
      if (disarm(rig.folder, fault.point)) pool.kill(fault.at % rig.lines.length);
      return;
    }
    case 'freeze':
      return pool.freeze(fault.slot, fault.ms);
    case 'kill-server':
      return rig.killServer(fault.downMs);
    case 'kill-people':
      return rig.killPeople(fault.crowd);
    case 'deploy':
      return pool.deploy();
    case 'wire': {
      const { link, how, delayMs } = fault;
      const lines = link === 'all' ? [...rig.lines, rig.peopleLine] : [link === 'people' ? rig.peopleLine : rig.lines[link]];
      for (const line of lines) line?.disturb(how, delayMs);
      await until(Date.now() + fault.ms);
      for (const line of lines) line?.heal();
    }
  }
}

function until(time: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, time - Date.now())));
}
