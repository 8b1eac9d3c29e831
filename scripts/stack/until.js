// @ts-check
'use strict';

const { createServer } = require('node:net');

/** @typedef {import('../guarded').Guarded} Guarded */

/**
 * Waits for a condition, with a deadline. Where a process is named, its end ends the waiting, with its last words.
 * @template T
 * @param {string} what as in "after 5 s it was not so that …" @param {() => T | Promise<T>} condition @param {number} timeoutMs @param {Guarded} [process_]
 * @returns {Promise<NonNullable<T>>}
 */
async function until(what, condition, timeoutMs, process_) {
  const deadline = Date.now() + timeoutMs;
  /** @type {import('../guarded').Ended | undefined} */
  let ended;
  void process_?.ended.then((last) => {
    ended = last;
  });
  let trouble = '';
  for (;;) {
    try {
      const value = await condition();
      if (value) return value;
    } catch (error) {
      trouble = `: ${error instanceof Error ? error.message : error}`;
    }
    if (ended)
      throw new Error(
        `${what}: the process ended (${ended.error ?? ended.signal ?? ended.code}) before that\n${ended.output.slice(-2_000)}`,
      );
    if (Date.now() > deadline) throw new Error(`not so within ${timeoutMs / 1_000} s: ${what}${trouble}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/**
 * A free port below 32,768: the server keeps its ports in the database as 16-bit numbers with a sign; and above it, on Linux, an outgoing connection
 * may take the port before we do.
 * @returns {Promise<number>}
 */
async function freePort() {
  for (;;) {
    const port = 15_000 + Math.floor(Math.random() * 17_000);
    const free = await new Promise((resolve) => {
      const probe = createServer();
      probe.once('error', () => resolve(false));
      probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
    });
    if (free) return port;
  }
}

module.exports = { until, freePort };
