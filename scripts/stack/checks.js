// @ts-check
'use strict';

/** Counts what holds. After a check that everything else rests on has failed (`must`), the rest is not run and the failure stands alone. */
function createChecks() {
  let passed = 0;
  let failed = 0;
  /** @param {string} name @param {() => unknown} body @returns {Promise<boolean>} */
  async function check(name, body) {
    const started = Date.now();
    try {
      await body();
      passed++;
      console.log(`ok    ${name} (${((Date.now() - started) / 1_000).toFixed(1)} s)`);
      return true;
    } catch (error) {
      failed++;
      console.log(`FAIL  ${name} (${((Date.now() - started) / 1_000).toFixed(1)} s)\n      ${wordsOf(error).replaceAll('\n', '\n      ')}`);
      return false;
    }
  }
  return {
    check,
    /** @param {string} name @param {() => unknown} body */
    async must(name, body) {
      if (!(await check(name, body))) throw new StackNotUp();
    },
    counts: () => ({ passed, failed }),
  };
}

/** With what is behind it: gRPC errors say what happened in their cause. @param {unknown} error @returns {string} */
function wordsOf(error) {
  if (!(error instanceof Error)) return String(error);
  return error.cause ? `${error.message}\ncaused by: ${wordsOf(error.cause)}` : error.message;
}

/** The failure is told and counted already. */
class StackNotUp extends Error {}

module.exports = { createChecks, StackNotUp };
