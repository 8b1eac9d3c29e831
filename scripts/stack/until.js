// @ts-check
'use strict';

const { createServer } = require('node:net');

/** @typedef {import('../guarded').Guarded} Guarded */

/**
 * Waits for a condition, with a deadline. If a process is given and ends, it rejects with the end of the process's output.
 * @template T
 * @param {string} what the condition as a sentence, for the error @param {() => T | Promise<T>} condition @param {number} timeoutMs @param {Guarded} [process_]
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
    if (Date.now() > deadline) throw new Error(`still not true after ${timeoutMs / 1_000} s: ${what}${trouble}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/**
 * A free port below 32,768: the server stores its ports in the database as signed 16-bit numbers, and on Linux an outgoing connection may take
 * a higher port first.
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
