import type { CrashRun, Difference } from './judge';
import type { CrashPoint } from './points';

/** What became of the run whose worker was killed or frozen at a point. */
export interface CrashResult extends CrashPoint {
  run: CrashRun;
  /** Empty if the run is as it should be. */
  differences: Difference[];
}

export interface CrashReport {
  /** The run without faults. */
  clean: CrashRun;
  /** In the order of the run, first those of the first way. */
  points: CrashResult[];
  /** How long everything took, in milliseconds. */
  ms: number;
  /** The counts and, if there are any, the differences, for people. */
  summary: string;
}

export function reportOf(clean: CrashRun, points: CrashResult[], ms: number): CrashReport {
  return { clean, points, ms, summary: summaryOf(points, ms) };
}

const mostShown = 20;

function summaryOf(points: readonly CrashResult[], ms: number): string {
  const wrong = points.filter(({ differences }) => differences.length > 0);
  const unknown = points.filter(({ run }) => run.unknown.length > 0);
  const ways = (['kill', 'freeze'] as const).map((way) => `${points.filter((point) => point.way === way).length} ${nouns[way]}`);
  const counts = [
    `${points.length} points (${ways.join(', ')}) in ${(ms / 1_000).toFixed(1)} s`,
    `${unknown.length} runs with an outcome that was reported as unknown`,
    wrong.length === 0 ? 'no differences' : `${wrong.length} points with differences`,
  ];
  const lines = wrong.slice(0, mostShown).flatMap(linesOf);
  const more = wrong.length > mostShown ? [`… and ${wrong.length - mostShown} points more`] : [];
  return [`crashEverywhere: ${counts.join('; ')}.`, ...lines, ...more].join('\n');
}

const nouns = { kill: 'kills', freeze: 'freezes' };
const words = { kill: 'killed', freeze: 'frozen' };

function linesOf({ way, at, run, differences }: CrashResult): string[] {
  return [`- ${words[way]} ${at} [${run.threadId}]`, ...differences.map(({ kind, message }) => `    ${kind}: ${message}`)];
}

/** Throws an error with the report's summary if a point has differences. */
export function assertCrashSafe({ points, summary }: Pick<CrashReport, 'points' | 'summary'>): void {
  if (points.some(({ differences }) => differences.length > 0)) throw new Error(summary);
}
