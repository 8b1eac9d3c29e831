// @ts-check
'use strict';

// `npm run demo` on a fresh clone with nothing installed: gets the dependencies and Temporal, runs an agent on a small real job, kills its
// worker in the middle, and shows the run go on in another. Plain Node until the dependencies are there.

const { installDependencies } = require('./install');

const usage = `usage: npm run demo [-- --keep | --no-keep]
  --keep      leave Temporal and its Web UI up afterwards, until Ctrl-C (the default on a terminal)
  --no-keep   end when the run has ended (the default elsewhere)
With OPENAI_API_KEY the agent thinks with the real provider, otherwise with a scripted model. LONGHAUL_MODEL names another model.`;

async function main() {
  const args = process.argv.slice(2);
  const unknown = args.find((arg) => !['--keep', '--no-keep'].includes(arg));
  if (unknown) {
    const asked = unknown === '--help' || unknown === '-h';
    console.error(asked ? usage : `demo: there is no option ${unknown}\n${usage}`);
    process.exitCode = asked ? 0 : 2;
    return;
  }
  installDependencies();
  require('tsx/cjs/api').register();
  /** @type {typeof import('./demo/main')} */
  const { demo } = require('./demo/main.ts');
  const terminal = process.stdin.isTTY === true && process.stdout.isTTY === true;
  process.exitCode = await demo({ keep: args.includes('--keep') || (terminal && !args.includes('--no-keep')) });
}

main().catch((error) => {
  console.error(`demo: ${error.message}`);
  process.exitCode = 1;
});
