import { parseArgs } from 'node:util';
import { runCases } from './run-cases';

/** `npm run test:patches -- --count 100000 --seed 1`: whether random edits and patches are applied exactly, or refused without a change. */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { count: { type: 'string', default: '100000' }, seed: { type: 'string', default: '1' } } });
  const [count, seed] = [Number(values.count), Number(values.seed)];
  if (!(Number.isInteger(count) && count > 0 && Number.isInteger(seed))) throw new TypeError('--count and --seed are whole numbers.');
  const began = performance.now();
  const { applied, refused, violations } = await runCases({
    count,
    seed,
    progress: (done) => process.stderr.write(`\r${done} of ${count}`),
  });
  process.stderr.write('\n');
  for (const violation of violations.slice(0, 20)) console.log(violation);
  const seconds = Math.round((performance.now() - began) / 1_000);
  console.log(
    `seed ${seed}: ${count} random edits and patches in ${seconds} s: ${applied} applied exactly, ${refused} refused without a change, ${violations.length} violations`,
  );
  if (violations.length > 0) process.exitCode = 1;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
