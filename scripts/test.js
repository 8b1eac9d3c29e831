// @ts-check
'use strict';

// `npm test` on a fresh clone with nothing installed: gets the dependencies, provides Temporal, runs jest with the arguments given,
// and prints as its last line what was counted: `N passed, N failed`. A file whose tests could not even be loaded counts as one failure, and so
// does each history of the run that does not replay.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { spawn } = require('node:child_process');
const { installDependencies } = require('./install');

const root = path.join(__dirname, '..');

async function main() {
  installDependencies();
  const { resolveTemporal } = require('./temporal');
  // Only found here, so that a long build shows its progress; the server itself is started by jest's global setup.
  await resolveTemporal({ log: (line) => console.log(line) });
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'longhaul-test-'));
  try {
    return await runJest(path.join(folder, 'results.json'), path.join(folder, 'gate.json'), process.argv.slice(2));
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} report @param {string} gate @param {string[]} args @returns {Promise<{ passed: number, failed: number }>} */
async function runJest(report, gate, args) {
  const jest = [require.resolve('jest/bin/jest', { paths: [root] }), '--json', `--outputFile=${report}`, ...args];
  const child = spawn(process.execPath, jest, {
    cwd: root,
    env: { ...process.env, LONGHAUL_TEST_GATE: gate },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  // On a terminal Ctrl-C reaches jest as well; we wait for it, so that its teardown is not cut short.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  const closed = new Promise((resolve) => child.once('close', resolve));
  const stuck = endWhenStuck(child, report);
  const code = await closed;
  clearInterval(stuck);
  if (!fs.existsSync(report)) {
    console.error(`jest ended with exit code ${code} before it ran a test`);
    return { passed: 0, failed: 1 };
  }
  const results = JSON.parse(fs.readFileSync(report, 'utf8'));
  // Written where a history of this run does not replay: test/support/global-teardown.ts.
  const diverged = fs.existsSync(gate) ? JSON.parse(fs.readFileSync(gate, 'utf8')).failed : 0;
  const failed = results.numFailedTests + results.numRuntimeErrorTestSuites + diverged;
  // Jest can also fail for another reason than a test, such as its global teardown or a coverage threshold.
  return { passed: results.numPassedTests, failed: failed === 0 && code !== 0 ? 1 : failed };
}

/**
 * The report is the last thing that jest makes. When it has not ended a while later, a test left something open (a server, a child), and it would
 * hang for ever: ended here, it has no exit code of its own, which counts as a failure.
 * @param {import('node:child_process').ChildProcess} child @param {string} report
 */
function endWhenStuck(child, report) {
  return setInterval(() => {
    if (!fs.existsSync(report) || Date.now() - fs.statSync(report).mtimeMs < 20_000) return;
    console.error('jest does not end: a test left something open (npx jest --detectOpenHandles names it)');
    child.kill('SIGKILL');
  }, 1_000);
}

main().then(
  ({ passed, failed }) => {
    if (passed + failed === 0) console.error('no test ran: does a name or path in the arguments match nothing?');
    process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
    console.log(`${passed} passed, ${failed} failed`);
  },
  (error) => {
    console.error(error.message);
    process.exitCode = 1;
    console.log('0 passed, 1 failed');
  },
);
