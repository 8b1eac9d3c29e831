// @ts-check
'use strict';

/** Runs and counts checks. If a check that the others depend on fails (`must`), the others are not run. */
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

/** The message with those of its causes, because gRPC errors have the reason in their cause. @param {unknown} error @returns {string} */
function wordsOf(error) {
  if (!(error instanceof Error)) return String(error);
  return error.cause ? `${error.message}\ncaused by: ${wordsOf(error.cause)}` : error.message;
}

/** A `must` check failed; it has already been printed and counted. */
class StackNotUp extends Error {}

module.exports = { createChecks, StackNotUp };
