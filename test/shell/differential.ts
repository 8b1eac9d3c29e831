import { createPermissions } from '../../src/tools/permissions/permissions';
import { someCommands } from './commands';
import { type Free, runTraced, type Violation } from './trace';
import { setTraps } from './traps';

export interface Differential {
  seed: number;
  /** How many commands that are free are run. */
  count: number;
  /** Called after each batch. */
  progress?(ran: number, generated: number): void;
}

export interface Outcome {
  ran: number;
  generated: number;
  /** In both modes the same command is one. */
  different: number;
  violations: Violation[];
}

const batch = 250;
const timeoutMs = 120_000;

/** Runs commands that need no approval among traps, and reports forbidden actions. */
export function differential({ seed, count, progress = () => {} }: Differential): Outcome {
  const traps = setTraps();
  const seen = new Set<string>();
  const outcome: Outcome = { ran: 0, generated: 0, different: 0, violations: [] };
  try {
    for (let chunk = 0; outcome.ran < count; chunk += 1) {
      traps.reset();
      const wanted = Math.min(batch, count - outcome.ran);
      const free: Free[] = [];
      for (let part = 0; free.length < wanted; part += 1) {
        for (const command of someCommands(seed * 1_000_003 + chunk * 1_009 + part, 1_000)) {
          if (free.length === wanted) break;
          outcome.generated += 1;
          const found = freeIn(command, traps.workspace);
          if (!found || seen.has(command)) continue;
          seen.add(command);
          free.push(found);
        }
      }
      traps.makeHostile();
      outcome.violations.push(...runTraced(traps, free, timeoutMs));
      outcome.ran += free.length;
      progress(outcome.ran, outcome.generated);
    }
  } finally {
    traps.remove();
  }
  outcome.different = seen.size;
  return outcome;
}

function freeIn(command: string, root: string): Free | undefined {
  const isFree = (mode: 'minimal' | 'trusted') =>
    createPermissions({ mode, root }).decide({ tool: 'shell', args: { command } }) === 'allow';
  if (isFree('minimal')) return { command, writes: false };
  return isFree('trusted') ? { command, writes: /\bsed\b/.test(command) } : undefined;
}
