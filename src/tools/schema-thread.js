// @ts-check
'use strict';

// Compiles JSON Schemas, and checks values against them in a thread of its own: a pattern may backtrack for years, forms that refer to each
// other may be tried in all combinations. Whoever waits for an answer can end the thread. Plain JavaScript, so that the thread can be
// started from the sources as well.

const { parentPort, workerData } = require('node:worker_threads');
const { Ajv } = require('ajv');
const { Ajv2020 } = require('ajv/dist/2020');
const { default: addFormats } = require('ajv-formats');

/** @typedef {'draft-07' | '2020-12'} Dialect */
/** @typedef {Record<string, unknown>} Schema */

/** By this the file knows that it is the thread. */
const threadName = 'longhaul-schema-thread';

// Not strict: schemas written for other systems have keywords of theirs.
const options = { strict: false, allErrors: true, logger: /** @type {const} */ (false) };
/** @type {Record<Dialect, () => Ajv>} */
const makers = {
  'draft-07': () => addFormats(new Ajv(options)),
  '2020-12': () => addFormats(new Ajv2020(options)),
};
/** @type {Map<Dialect, Ajv>} */
const shared = new Map();

/**
 * A check of values against a schema that needs no other. Throws an `Error` that says why it is no schema.
 * @param {Schema} schema
 * @returns {import('ajv').ValidateFunction}
 */
function compile(schema) {
  if (JSON.stringify(schema).includes('"$async"')) throw new Error('$async is not part of JSON Schema');
  const dialect = dialectOf(schema.$schema);
  if (dialect) return compileAs(dialect, schema);
  try {
    return compileAs('2020-12', schema);
  } catch (error) {
    try {
      return compileAs('draft-07', schema);
    } catch {
      throw error;
    }
  }
}

/** @param {unknown} $schema @returns {Dialect | undefined} */
function dialectOf($schema) {
  if ($schema === undefined) return undefined;
  const uri = String($schema)
    .replace(/^https?:\/\//, '')
    .replace(/#$/, '');
  if (uri === 'json-schema.org/draft-07/schema') return 'draft-07';
  if (uri === 'json-schema.org/draft/2020-12/schema') return '2020-12';
  throw new Error(`$schema is ${JSON.stringify($schema)}; draft-07 and 2020-12 are known`);
}

/** @param {Dialect} dialect @param {Schema} schema */
function compileAs(dialect, { $schema: _dialect, ...schema }) {
  // Ids are kept by whoever compiled them: another tool's references would find them.
  if (JSON.stringify(schema).includes('"$id"')) return makers[dialect]().compile(schema);
  const ajv = shared.get(dialect) ?? makers[dialect]();
  shared.set(dialect, ajv);
  try {
    return ajv.compile(schema);
  } finally {
    // The compiler would keep it for good, and threads may bring schemas without end.
    ajv.removeSchema(schema);
  }
}

/** @type {Map<string, import('ajv').ValidateFunction>} Compiled schemas by their JSON, the newest last. */
const compiled = new Map();
const mostCompiled = 200;
/** More problems are not told, nor counted. */
const mostErrors = 1_000;

/** @param {{ schema: string, value: unknown }} asked */
function check({ schema, value }) {
  try {
    const validate = compiled.get(schema) ?? compile(JSON.parse(schema));
    compiled.delete(schema);
    compiled.set(schema, validate);
    for (const oldest of compiled.keys()) {
      if (compiled.size <= mostCompiled) break;
      compiled.delete(oldest);
    }
    if (validate(value)) return { errors: [] };
    const errors = (validate.errors ?? []).slice(0, mostErrors);
    return { errors: errors.map(({ instancePath, keyword, params, message }) => ({ instancePath, keyword, params, message })) };
  } catch (error) {
    return { thrown: error instanceof Error ? error.message : String(error) };
  }
}

if (workerData === threadName) {
  parentPort?.on('message', (asked) => parentPort?.postMessage(check(asked)));
  // It is ready.
  parentPort?.postMessage({ errors: [] });
}

module.exports = { compile, threadName };
