// @ts-check
'use strict';

// `npm run demo`, also on a fresh clone: installs the dependencies, gets Temporal, runs an agent on a small real job, kills its worker in the
// middle, and shows how another worker continues the run. Uses only Node until the dependencies are installed.

const { installDependencies } = require('./install');

const usage = `usage: npm run demo [-- --keep | --no-keep]
  --keep      keep Temporal and its Web UI running afterwards, until Ctrl-C (the default on a terminal)
  --no-keep   exit when the run has ended (the default elsewhere)
With OPENAI_API_KEY the agent uses the real provider, otherwise a scripted model. LONGHAUL_MODEL names another model.`;

async function main() {
  const args = process.argv.slice(2);
  const unknown = args.find((arg) => !['--keep', '--no-keep'].includes(arg));
  if (unknown) {
    const asked = unknown === '--help' || unknown === '-h';
    console.error(asked ? usage : `demo: unknown option ${unknown}\n${usage}`);
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
