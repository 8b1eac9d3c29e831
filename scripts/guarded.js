// @ts-check
'use strict';

// Runs a command that must not outlive this process, however this process ends. A second small process (the guard) starts the command and
// holds a channel to us: when we are gone, also by SIGKILL, the channel closes and the guard kills the command with all its children.
// The guard has its own process group, so a Ctrl-C on the terminal reaches us alone and we decide what it means.

const { fork, spawn } = require('node:child_process');

/**
 * @typedef {{ code: number | null, signal: string | null, output: string, error?: string }} Ended `output`: the last 8,000 characters of both streams.
 * @typedef {{ pid: Promise<number>, ended: Promise<Ended>, kill(): Promise<Ended>, background(): void }} Guarded
 */

/**
 * `pid` rejects when the command can't be started; `kill` is SIGKILL to its whole group; after `background()` it no longer keeps this process alive.
 * @param {string} command
 * @param {string[]} args
 * @param {{ env?: NodeJS.ProcessEnv, onLine?: (line: string) => void }} [options]
 * @returns {Guarded}
 */
function guarded(command, args, { env = process.env, onLine = () => {} } = {}) {
  // NODE_OPTIONS is for our own process (a loader, an inspector port): the guard is to be plain and quick.
  const { NODE_OPTIONS: _, ...plain } = env;
  const guard = fork(__filename, [command, ...args], {
    env: plain,
    execArgv: [],
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  let output = '';
  /** @type {Ended | undefined} */
  let last;
  /** @type {Promise<number>} */
  const pid = new Promise((resolve, reject) => {
    guard.on('message', (/** @type {any} */ message) => {
      if (message.pid) resolve(message.pid);
      if (message.line !== undefined) {
        output = `${output}${message.line}\n`.slice(-8_000);
        onLine(message.line);
      }
      if (message.ended) last = message.ended;
      if (message.ended?.error) reject(new Error(message.ended.error));
    });
    guard.once('error', reject);
    guard.once('exit', () => reject(new Error(`${command} ended before it could say its process id`)));
  });
  pid.catch(() => {});
  /** @type {Promise<Ended>} */
  const ended = new Promise((resolve) => {
    // `close` and not `exit`: what was still in the channel is read first.
    guard.once('close', (code, signal) => {
      // Killed by somebody else, it could not end the command.
      if (!last && signal) void pid.then((orphan) => killGroup(orphan)).catch(() => {});
      resolve({ code, signal, ...last, output });
    });
  });
  return {
    pid,
    ended,
    kill() {
      guard.ref();
      guard.kill('SIGTERM');
      return ended;
    },
    background() {
      guard.unref();
      guard.channel?.unref();
    },
  };
}

/** @param {number} pid */
function killGroup(pid) {
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch {
    // It is gone already.
  }
}

/** @param {string} command @param {string[]} args */
function guard(command, args) {
  const child = spawn(command, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true });
  const end = () => {
    // Only when the command is gone are we: whoever waits for our end may take its port or its files at once.
    child.once('exit', () => process.exit());
    if (child.pid) killGroup(child.pid);
    if (!child.pid || child.exitCode !== null || child.signalCode !== null) process.exit();
  };
  process.on('disconnect', end);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, end);

  /** @param {object} message */
  const tell = (message) => {
    if (process.connected) process.send?.(message, undefined, undefined, () => {});
  };
  child.once('spawn', () => tell({ pid: child.pid }));
  child.once('error', (error) => tell({ ended: { code: null, signal: null, error: error.message } }));
  for (const stream of [child.stdout, child.stderr]) {
    const lines = require('node:readline').createInterface({ input: stream });
    lines.on('line', (/** @type {string} */ line) => tell({ line }));
  }
  child.once('close', (code, signal) => {
    tell({ ended: { code, signal } });
    process.removeListener('disconnect', end);
    if (process.connected) process.disconnect();
  });
}

if (require.main === module) guard(process.argv[2] ?? '', process.argv.slice(3));

module.exports = { guarded };
