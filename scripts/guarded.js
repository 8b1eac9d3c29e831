// @ts-check
'use strict';

// Runs a command that must not outlive this process, however this process ends. A small second process (the guard) starts the command and
// keeps an IPC channel to this process. When this process ends, even by SIGKILL, the channel closes and the guard kills the command with all
// its children. The guard has its own process group, so a Ctrl-C on the terminal reaches only this process, which decides what to do.

const { fork, spawn } = require('node:child_process');

/**
 * @typedef {{ code: number | null, signal: string | null, output: string, error?: string }} Ended `output`: both streams, without the middle if they have more than 16,000 characters.
 * @typedef {{ pid: Promise<number>, ended: Promise<Ended>, kill(): Promise<Ended>, background(): void }} Guarded
 */

/**
 * Starts a command. `pid` rejects if the command can't be started; `kill` sends SIGKILL to its whole process group; after `background()` the
 * command no longer keeps this process alive.
 * @param {string} command
 * @param {string[]} args
 * @param {{ env?: NodeJS.ProcessEnv, onLine?: (line: string) => void }} [options]
 * @returns {Guarded}
 */
function guarded(command, args, { env = process.env, onLine = () => {} } = {}) {
  // NODE_OPTIONS (a loader, an inspector port) is meant for this process, and would slow down the guard.
  const { NODE_OPTIONS: _, ...plain } = env;
  const guard = fork(__filename, [command, ...args], {
    env: plain,
    execArgv: [],
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  // The first lines of a panic say what happened; the last lines of a long log do.
  let head = '';
  let tail = '';
  /** @type {Ended | undefined} */
  let last;
  /** @type {Promise<number>} */
  const pid = new Promise((resolve, reject) => {
    guard.on('message', (/** @type {any} */ message) => {
      if (message.pid) resolve(message.pid);
      if (message.line !== undefined) {
        if (head.length < 8_000) head += `${message.line}\n`;
        else tail = `${tail}${message.line}\n`.slice(-8_000);
        onLine(message.line);
      }
      if (message.ended) last = message.ended;
      if (message.ended?.error) reject(new Error(message.ended.error));
    });
    guard.once('error', reject);
    guard.once('exit', () => reject(new Error(`${command} ended before its process id was known`)));
  });
  pid.catch(() => {});
  /** @type {Promise<Ended>} */
  const ended = new Promise((resolve) => {
    // `close`, not `exit`: by then all messages in the channel have been read.
    guard.once('close', (code, signal) => {
      // If the guard itself was killed, it could not end the command.
      if (!last && signal) void pid.then((orphan) => killGroup(orphan)).catch(() => {});
      resolve({ code, signal, ...last, output: tail.length < 8_000 ? head + tail : `${head}…\n${tail}` });
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
    // It has already exited.
  }
}

/** @param {string} command @param {string[]} args */
function guard(command, args) {
  const child = spawn(command, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true });
  const end = () => {
    // Exit only after the command has, because a caller that waits for the guard may use the command's port or files immediately.
    child.once('exit', () => process.exit());
    if (child.pid) killGroup(child.pid);
    if (!child.pid || child.exitCode !== null || child.signalCode !== null) process.exit();
  };
  process.on('disconnect', end);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, end);

  /** @param {object} message @param {() => void} [sent] */
  const tell = (message, sent = () => {}) => {
    if (process.connected) process.send?.(message, undefined, undefined, sent);
  };
  child.once('spawn', () => tell({ pid: child.pid }));
  child.once('error', (error) => tell({ ended: { code: null, signal: null, error: error.message } }));
  for (const stream of [child.stdout, child.stderr]) {
    const lines = require('node:readline').createInterface({ input: stream });
    lines.on('line', (/** @type {string} */ line) => tell({ line }));
  }
  child.once('close', (code, signal) => {
    process.removeListener('disconnect', end);
    // Disconnecting drops messages that are not yet written.
    tell({ ended: { code, signal } }, () => process.connected && process.disconnect());
  });
}

if (require.main === module) guard(process.argv[2] ?? '', process.argv.slice(3));

module.exports = { guarded };
