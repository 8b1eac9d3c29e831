import { parseArgs } from 'node:util';

export interface Options {
  minutes: number;
  seed: number;
  kills: number;
  workers: number;
  /** Print the plan and exit. */
  plan: boolean;
}

const usage = 'npm run storm [-- --minutes N --seed S --kills K --workers W --plan]';
const killsPerMinute = 10;

/** The command line is invalid. */
export class WrongOption extends Error {}

/** Parses the command line. Throws a `WrongOption` that names the option, its value and what is valid. */
export function readOptions(args: string[], makeSeed: () => number = () => Math.floor(Math.random() * 2 ** 31)): Options {
  const text = { type: 'string' } as const;
  let values: Record<string, string | boolean | undefined>;
  try {
    ({ values } = parseArgs({ args, options: { minutes: text, seed: text, kills: text, workers: text, plan: { type: 'boolean' } } }));
  } catch (error) {
    throw new WrongOption(`${(error as Error).message}\nUse: ${usage}`);
  }
  const read = (name: string, what: string, fits: (n: number) => boolean, otherwise: number): number => {
    const given = values[name];
    if (given === undefined) return otherwise;
    const n = String(given).trim() === '' ? Number.NaN : Number(given);
    if (!fits(n)) throw new WrongOption(`--${name} ${JSON.stringify(given)}: there is no such ${name}; give ${what}.\nUse: ${usage}`);
    return n;
  };
  const whole = (low: number, high: number) => (n: number) => Number.isSafeInteger(n) && n >= low && n <= high;
  const minutes = read('minutes', 'minutes above 0, at most 600', (n) => n > 0 && n <= 600, 3);
  return {
    minutes,
    seed: read('seed', 'a whole number from 0 to 2147483647', whole(0, 2 ** 31 - 1), makeSeed()),
    kills: read('kills', 'a whole number of worker kills, 0 or more', whole(0, 100_000), Math.round(minutes * killsPerMinute)),
    workers: read('workers', 'a whole number of worker processes from 2 to 16', whole(2, 16), 3),
    plan: values.plan === true,
  };
}

/** The command that repeats the storm. */
export function commandOf({ minutes, seed, kills, workers }: Options): string {
  return `npm run storm -- --minutes ${minutes} --seed ${seed} --kills ${kills} --workers ${workers}`;
}
