// @ts-check
'use strict';

// Searches a text line by line in a separate thread, because a pattern may backtrack for years and a text may have millions of lines. The caller
// can end the thread. Plain JavaScript, so that the thread can also be started from the sources.

const { parentPort, workerData } = require('node:worker_threads');

/**
 * @typedef {{ bytes: Uint8Array, pattern: string, regex: boolean, ignoreCase: boolean, before: number, after: number, maxMatches: number, maxBytes: number }} Search
 * @typedef {{ found: string, matches: number, more: boolean, lines: number } | { thrown: string }} SearchAnswer
 */

/** Marks that this file runs as the thread. */
const threadName = 'longhaul-search-thread';

/** Of a longer line, only what is around each match is shown. */
const longLine = 1_000;
const aroundMatch = 200;
const newline = 0x0a;

/** @param {Search} asked @returns {SearchAnswer} */
function search(asked) {
  try {
    return found(asked);
  } catch (error) {
    return { thrown: error instanceof Error ? error.message : String(error) };
  }
}

/** @param {Search} asked @returns {SearchAnswer} */
function found(asked) {
  const { bytes, pattern, regex, ignoreCase } = asked;
  const matcher = new RegExp(regex ? pattern : pattern.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'), ignoreCase ? 'gi' : 'g');
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const results = new Results(asked);
  let number = 0;
  for (let start = 0; start < text.length && !results.more; ) {
    const at = text.indexOf(newline, start);
    const end = at === -1 ? text.length : at;
    number += 1;
    results.read(number, text.toString('utf8', start, end), matcher);
    start = end + 1;
  }
  return { found: results.shown.join('\n'), matches: results.matches, more: results.more, lines: number };
}

/** What is shown of the lines that were read so far. */
class Results {
  /** @type {string[]} */
  shown = [];
  matches = 0;
  /** There is a match that is not shown. */
  more = false;
  #bytes = 0;
  /** The lines before this one, which are shown if it matches. @type {[number, string][]} */
  #held = [];
  #lastShown = 0;
  /** The last line that is shown because it follows a match. */
  #showUntil = 0;

  /** @param {Search} search */
  constructor(search) {
    this.search = search;
  }

  /** @param {number} number @param {string} line @param {RegExp} matcher */
  read(number, line, matcher) {
    const { after, maxMatches } = this.search;
    const left = maxMatches - this.matches;
    const excerpts = matchesIn(line, matcher, left + 1);
    if (excerpts.length === 0) return this.#context(number, line);
    this.more = excerpts.length > left;
    if (left === 0) return;
    this.#lead(number);
    for (const excerpt of excerpts.slice(0, left)) this.#show(number, excerpt);
    this.matches += Math.min(excerpts.length, left);
    this.#showUntil = number + after;
  }

  /** A line without a match. @param {number} number @param {string} line */
  #context(number, line) {
    if (number <= this.#showUntil) return this.#show(number, `- ${clipped(line)}`);
    this.#held.push([number, line]);
    if (this.#held.length > this.search.before) this.#held.shift();
  }

  /** Shows the lines before a match, and a separator if others are left out. @param {number} number */
  #lead(number) {
    const { before, after } = this.search;
    const first = this.#held[0]?.[0] ?? number;
    if (this.#lastShown > 0 && first > this.#lastShown + 1 && before + after > 0) this.#add('--');
    for (const [at, line] of this.#held) this.#show(at, `- ${clipped(line)}`);
    this.#held = [];
  }

  /** @param {number} number @param {string} text */
  #show(number, text) {
    this.#add(`L${number}${text}`);
    this.#lastShown = number;
  }

  /** @param {string} line */
  #add(line) {
    this.#bytes += Buffer.byteLength(line) + 1;
    if (this.#bytes > this.search.maxBytes) this.more = true;
    else this.shown.push(line);
  }
}

/**
 * A line with a match, as it is shown after its number. Of a long line, each match with what is around it, and its place in the line.
 * @param {string} line @param {RegExp} matcher @param {number} most
 */
function matchesIn(line, matcher, most) {
  matcher.lastIndex = 0;
  if (line.length <= longLine) return matcher.test(line) ? [`: ${line}`] : [];
  const excerpts = [];
  for (let match = matcher.exec(line); match && excerpts.length < most; match = matcher.exec(line)) {
    const from = Math.max(0, match.index - aroundMatch);
    const to = Math.min(line.length, match.index + Math.min(match[0].length, longLine) + aroundMatch);
    excerpts.push(` (character ${match.index} of ${line.length}): …${sound(line.slice(from, to))}…`);
    // The next match is looked for behind what was shown; an empty match would be found again.
    matcher.lastIndex = Math.max(to, matcher.lastIndex + 1);
  }
  return excerpts;
}

/** @param {string} line */
function clipped(line) {
  return line.length <= longLine ? line : `${sound(line.slice(0, longLine))}… [${line.length - longLine} more characters]`;
}

/** Replaces halves of surrogate pairs, where a cut has parted them. @param {string} text */
function sound(text) {
  return Buffer.from(text).toString();
}

if (workerData === threadName) {
  parentPort?.on('message', (asked) => parentPort?.postMessage(search(asked)));
  // Reports that the thread is ready.
  parentPort?.postMessage({ thrown: '' });
}

module.exports = { threadName };
