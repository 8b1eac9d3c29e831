import { commandOf, readOptions } from '../../storm/options';
import { makePlan } from '../../storm/plan';
import { killPoints } from '../../storm/plan-faults';
import { random } from '../../storm/random';

const options = { minutes: 10, seed: 7, kills: 90, workers: 3 };

test('the same seed gives the same plan, another seed another', () => {
  expect(makePlan(options)).toEqual(makePlan(options));
  expect(makePlan({ ...options, seed: 8 }).digest).not.toBe(makePlan(options).digest);
});

test('a plan has the requested number of kills, in order, within its time, and every kind of fault', () => {
  const { faults, threads } = makePlan(options);
  const kills = faults.reduce((sum, { kind }) => sum + (kind === 'kill' || kind === 'kill-at' ? 1 : kind === 'kill-all' ? 3 : 0), 0);
  expect(kills).toBe(90);
  expect(new Set(faults.map(({ kind }) => kind))).toEqual(
    new Set(['kill', 'kill-at', 'kill-all', 'freeze', 'kill-server', 'kill-people', 'wire', 'deploy']),
  );
  expect(new Set(faults.flatMap((fault) => (fault.kind === 'kill-at' ? [fault.point] : [])))).toEqual(new Set(killPoints));
  const times = faults.map(({ at }) => at);
  expect(times).toEqual([...times].sort((a, b) => a - b));
  expect(Math.max(...times)).toBeLessThanOrEqual(600_000);
  // One in a while is frozen for longer than the most patient heartbeat.
  expect(faults.some((fault) => fault.kind === 'freeze' && fault.ms > 30_000)).toBe(true);
  expect(new Set(threads.map(({ id }) => id)).size).toBe(threads.length);
});

test('a plan without kills has none', () => {
  expect(makePlan({ ...options, kills: 0 }).faults.filter(({ kind }) => kind.startsWith('kill') && !/server|people/.test(kind))).toEqual(
    [],
  );
});

test('numbers with other names differ, and are within their bounds', () => {
  const drawn = Array.from({ length: 1_000 }, (_, i) => random(1, 'a', i).next());
  expect(new Set(drawn).size).toBeGreaterThan(990);
  expect(drawn.every((n) => n >= 0 && n < 1)).toBe(true);
  expect(Math.abs(drawn.reduce((sum, n) => sum + n, 0) / 1_000 - 0.5)).toBeLessThan(0.05);
  expect(random('x').between(3, 3)).toBe(3);
});

test('the command that a storm prints repeats it', () => {
  const read = readOptions(['--minutes', '0.5', '--seed', '12']);
  expect(read).toEqual({ minutes: 0.5, seed: 12, kills: 5, workers: 3, plan: false });
  expect(readOptions(commandOf(read).split(' -- ')[1]?.split(' ') ?? [])).toEqual(read);
  expect(readOptions([], () => 99).seed).toBe(99);
});

test.each([
  [['--seed', 'x'], /--seed "x": there is no such seed; give a whole number from 0 to 2147483647/],
  [['--seed', '-1'], /seed/],
  [['--seed', '1.5'], /--seed "1.5": there is no such seed/],
  [['--seed', ''], /--seed "": there is no such seed/],
  [['--seed', '2147483648'], /there is no such seed/],
  [['--minutes', '0'], /--minutes "0".*above 0/],
  [['--kills', 'many'], /--kills "many"/],
  [['--workers', '1'], /from 2 to 16/],
  [['--storm'], /Use: npm run storm/],
])('%j is refused with a message that says what is valid', (args, words) => {
  expect(() => readOptions(args)).toThrow(words);
});
