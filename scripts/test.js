// @ts-check
'use strict';

// `npm test`, `npm run test:long` and `npm run test:kills`, also on a fresh clone: installs the dependencies, provides Temporal, runs jest with
// the given arguments, and prints `N passed, N failed` as its last line. A test file that could not be loaded counts as one failure, and so does
// each history of the run that does not replay.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { spawn } = require('node:child_process');
const { installDependencies } = require('./install');

const root = path.join(__dirname, '..');

async function main() {
  installDependencies();
  const { resolveTemporal } = require('./temporal');
  // Only provides the program here, so that a long build shows its progress; jest's global setup starts the server.
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
  // On a terminal Ctrl-C reaches jest as well; wait for jest, so that its teardown can finish.
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
  if (results.numTotalTestSuites === 0) console.error('no test file matches; npm run test:long runs the files named *.long.test.ts');
  // test/support/global-teardown.ts writes this file if a history of this run does not replay.
  const diverged = fs.existsSync(gate) ? JSON.parse(fs.readFileSync(gate, 'utf8')).failed : 0;
  const failed = results.numFailedTests + results.numRuntimeErrorTestSuites + diverged;
  // Jest can also fail without a failed test, for example in its global teardown or because of a coverage threshold.
  return { passed: results.numPassedTests, failed: failed === 0 && code !== 0 ? 1 : failed };
}

/**
 * Kills jest if it has not exited 20 s after it wrote its report: a test left something open (a server, a child process), and jest would hang
 * forever. A killed jest has no exit code, which counts as a failure.
 * @param {import('node:child_process').ChildProcess} child @param {string} report
 */
function endWhenStuck(child, report) {
  return setInterval(() => {
    if (!fs.existsSync(report) || Date.now() - fs.statSync(report).mtimeMs < 20_000) return;
    console.error('jest does not exit: a test left something open (npx jest --detectOpenHandles names it)');
    child.kill('SIGKILL');
  }, 1_000);
}

main().then(
  ({ passed, failed }) => {
    if (passed + failed === 0) console.error('no test ran: check that the names and paths in the arguments match a test');
    process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
    console.log(`${passed} passed, ${failed} failed`);
  },
  (error) => {
    console.error(error.message);
    process.exitCode = 1;
    console.log('0 passed, 1 failed');
  },
);
