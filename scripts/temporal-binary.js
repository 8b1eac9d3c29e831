// @ts-check
'use strict';

// Finds the Temporal command line tool, which contains a development server, or downloads or builds it.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { guarded } = require('./guarded');

const version = 'v1.5.1';
const goPackage = `github.com/temporalio/cli/cmd/temporal@${version}`;
const exe = process.platform === 'win32' ? 'temporal.exe' : 'temporal';

/** @typedef {(line: string) => void} Log */

/** Where a downloaded or built tool is kept: in the user's cache, so that every clone finds it. */
function cachedBinary() {
  const named = process.env.XDG_CACHE_HOME ?? '';
  // Ignore a relative path, which would be controlled by the author of the current folder.
  const cache = path.isAbsolute(named) ? named : path.join(os.homedir(), '.cache');
  return path.join(cache, 'longhaul', `temporal-${version}`, exe);
}

/** @param {string} name @returns {string | undefined} */
function onPath(name) {
  const names = process.platform === 'win32' ? [`${name}.exe`] : [name];
  // Ignore relative folders such as "." or "node_modules/.bin", whose content is controlled by the author of the current folder.
  for (const folder of (process.env.PATH ?? '').split(path.delimiter).filter(path.isAbsolute)) {
    for (const candidate of names) if (isExecutable(path.join(folder, candidate))) return path.join(folder, candidate);
  }
  return undefined;
}

/** @param {string} file */
function isExecutable(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/**
 * The path of a Temporal command line tool: TEMPORAL_CLI_PATH, the PATH, the cache, the SDK's download, a build with Go; in this order.
 * @param {Log} log
 * @returns {Promise<string>}
 */
async function findBinary(log) {
  const named = process.env.TEMPORAL_CLI_PATH;
  if (named) {
    if (isExecutable(named)) return named;
    throw new Error(`TEMPORAL_CLI_PATH=${named} is not an executable file. Name the Temporal command line tool, or unset the variable.`);
  }
  const found = onPath('temporal') ?? (isExecutable(cachedBinary()) ? cachedBinary() : undefined);
  if (found) return found;
  /** @type {string[]} */
  const failures = [];
  for (const way of [download, build]) {
    try {
      return await obtainOnce(way, log);
    } catch (error) {
      failures.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new Error(`${howToProvide}\nWhat was tried:\n${failures.map((failure) => `  - ${failure.replaceAll('\n', '\n    ')}`).join('\n')}`);
}

const howToProvide = `There is no Temporal server, and no way to start one. Do one of these:
  - set TEMPORAL_ADDRESS to the host:port of a running Temporal server;
  - set TEMPORAL_CLI_PATH to the Temporal command line tool;
  - put the tool on your PATH as "temporal" (https://docs.temporal.io/cli#install);
  - allow network access, so that the Temporal SDK can download it;
  - install Go (https://go.dev/doc/install), so that it can be built with "go install ${goPackage}".`;

/**
 * Puts the binary into a private folder and moves it into the cache in one step, so that no process ever sees an incomplete file.
 * The lock only saves work: if two processes do the same concurrently, both succeed and the last file stays.
 * @param {(folder: string, log: Log) => Promise<string>} way
 * @param {Log} log
 */
async function obtainOnce(way, log) {
  const target = cachedBinary();
  fs.mkdirSync(path.dirname(target), { recursive: true });
  const release = await lock(`${target}.lock`, () => isExecutable(target), log);
  removeLeftovers(path.dirname(target));
  const folder = fs.mkdtempSync(path.join(path.dirname(target), `tmp-${process.pid}-`));
  try {
    if (!isExecutable(target)) fs.renameSync(await way(folder, log), target);
    return target;
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
    release();
  }
}

/**
 * Takes the lock. Waits for another process that holds it, until the work is done (`done`) or that process has ended.
 * @param {string} file @param {() => boolean} done @param {Log} log
 */
async function lock(file, done, log) {
  for (let waits = 0; ; waits++) {
    try {
      fs.writeFileSync(file, String(process.pid), { flag: 'wx' });
      return () => fs.rmSync(file, { force: true });
    } catch (error) {
      if (/** @type {any} */ (error).code !== 'EEXIST') throw error;
    }
    if (done()) return () => {};
    if (!isHeld(file)) fs.rmSync(file, { force: true });
    else if (waits === 0) log(`another process is providing the Temporal command line tool; waiting for it (${file})`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Removes temporary folders of processes that were killed. @param {string} parent */
function removeLeftovers(parent) {
  for (const name of fs.readdirSync(parent)) {
    const pid = /^tmp-(\d+)-/.exec(name)?.[1];
    if (pid && !isAlive(pid)) fs.rmSync(path.join(parent, name), { recursive: true, force: true });
  }
}

/** The process id is written a moment after the lock file is created, so a recent empty file counts as held. @param {string} file */
function isHeld(file) {
  try {
    const pid = fs.readFileSync(file, 'utf8');
    return pid === '' ? Date.now() - fs.statSync(file).mtimeMs < 5_000 : isAlive(pid);
  } catch {
    return false;
  }
}

/** @param {string} pid */
function isAlive(pid) {
  try {
    return process.kill(Number(pid), 0);
  } catch (error) {
    return /** @type {any} */ (error).code === 'EPERM';
  }
}

/**
 * The SDK can download the tool for this platform, but only as part of starting a server. This runs in a process of its own, because the SDK's
 * native runtime can't be unloaded.
 * @param {string} folder @param {Log} log
 */
async function download(folder, log) {
  let worker;
  try {
    worker = require.resolve('@temporalio/worker');
  } catch {
    throw new Error('the Temporal SDK is not installed, so it could not download anything (npm ci)');
  }
  const config = {
    type: 'dev-server',
    namespace: 'default',
    ip: '127.0.0.1',
    port: null,
    uiPort: null,
    dbFilename: null,
    ui: false,
    log: { format: 'pretty', level: 'error' },
    extraArgs: [],
    exe: { type: 'cached-download', downloadDir: folder, version, ttl: 3_600_000, sdkName: 'sdk-typescript', sdkVersion: '1.24.0' },
  };
  const program = `const { Runtime } = require(${JSON.stringify(worker)});
    const runtime = Runtime.instance();
    runtime.createEphemeralServer(${JSON.stringify(config)}).then((server) => runtime.shutdownEphemeralServer(server))
      .then(() => process.exit(0), (error) => { console.error(error.message); process.exit(1); });`;
  const job = guarded(process.execPath, ['-e', program]);
  const slow = setTimeout(() => log('downloading the Temporal command line tool (once) …'), 1_000);
  const deadline = setTimeout(() => void job.kill(), 180_000);
  const { code, output } = await job.ended;
  clearTimeout(slow);
  clearTimeout(deadline);
  const file = fs
    .readdirSync(folder)
    .map((name) => path.join(folder, name))
    .find(isExecutable);
  if (code !== 0 || !file) throw new Error(`the SDK could not download it: ${output.trim() || 'no answer within 180 s'}`);
  return file;
}

/** @param {string} folder @param {Log} log */
async function build(folder, log) {
  const go = onPath('go');
  if (!go) throw new Error('Go is not on the PATH, so it could not be built');
  log(`building the Temporal command line tool from its Go module, once: 2 to 4 minutes on two cores (${goPackage})`);
  const started = Date.now();
  let packages = 0;
  const job = guarded(go, ['install', '-v', goPackage], {
    env: { ...process.env, GOBIN: folder },
    onLine: (line) => {
      if (!line.startsWith('go: ')) packages++;
    },
  });
  const ticker = setInterval(() => log(`  … ${Math.round((Date.now() - started) / 1_000)} s, ${packages} packages compiled`), 10_000);
  const { code, error, output } = await job.ended;
  clearInterval(ticker);
  if (code !== 0) throw new Error(`go install ${goPackage} failed: ${error ?? output.trim().split('\n').slice(-5).join('\n')}`);
  log(`  built in ${Math.round((Date.now() - started) / 1_000)} s, kept in ${path.dirname(path.dirname(folder))}`);
  return path.join(folder, exe);
}

module.exports = { findBinary, cachedBinary };
