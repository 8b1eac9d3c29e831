import { parseArgs } from 'node:util';
import { differential } from './differential';
import { whyNoTrace } from './trace';

/** `npm run test:shell -- --count 20000 --seed 1`: whether what runs without asking does only what it is known for. */
function main(): void {
  const { values } = parseArgs({ options: { count: { type: 'string', default: '20000' }, seed: { type: 'string', default: '1' } } });
  const [count, seed] = [Number(values.count), Number(values.seed)];
  if (!(Number.isInteger(count) && count > 0 && Number.isInteger(seed))) throw new TypeError('--count and --seed are whole numbers.');
  const why = whyNoTrace();
  if (why !== undefined) throw new Error(why);
  const began = performance.now();
  const { ran, generated, violations } = differential({
    seed,
    count,
    progress: (done, of) => process.stderr.write(`\r${done} of ${count} commands ran; ${of} were generated`),
  });
  process.stderr.write('\n');
  for (const { command, what } of violations) console.log(`${JSON.stringify(command)}\n  ${what}`);
  const seconds = Math.round((performance.now() - began) / 1_000);
  console.log(
    `seed ${seed}: ${ran} different commands that are free, of ${generated} generated, ran in ${seconds} s: ${violations.length} violations`,
  );
  if (violations.length > 0) process.exitCode = 1;
}

main();
