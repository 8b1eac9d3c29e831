// @ts-check
'use strict';

// Compiles JSON Schemas, and validates values against them in a separate thread: a pattern may backtrack for years, and alternatives that refer
// to each other may be tried in all combinations. The caller can end the thread. Plain JavaScript, so that the thread can also be started from
// the sources.

const { parentPort, workerData } = require('node:worker_threads');
const { Ajv } = require('ajv');
const { Ajv2020 } = require('ajv/dist/2020');
const { default: addFormats } = require('ajv-formats');

/** @typedef {'draft-07' | '2020-12'} Dialect */
/** @typedef {Record<string, unknown>} Schema */

/** Marks that this file runs as the thread. */
const threadName = 'longhaul-schema-thread';

// Not strict: schemas written for other systems have keywords of their own.
const options = { strict: false, allErrors: true, logger: /** @type {const} */ (false) };
/** @type {Record<Dialect, () => Ajv>} */
const makers = {
  'draft-07': () => addFormats(new Ajv(options)),
  '2020-12': () => addFormats(new Ajv2020(options)),
};
/** In the order in which a schema that names none is taken. @type {Dialect[]} */
const dialects = ['2020-12', 'draft-07'];
/** @type {Map<Dialect, Ajv>} */
const shared = new Map();

/**
 * Compiles a self-contained schema to a validation function. Throws an `Error` with the reason if the schema is invalid.
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

/**
 * Throws an `Error` with the reason if a schema has keywords with values that they can't have. Compiles nothing of it, so it takes no longer than
 * the schema is long.
 * @param {Schema} schema
 */
function checkKeywords({ $schema, ...schema }) {
  const dialect = dialectOf($schema);
  const compilers = (dialect ? [dialect] : dialects).map(compilerOf);
  if (!compilers.some((ajv) => ajv.validateSchema(schema) === true)) throw new Error(compilers[0]?.errorsText());
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

/** @param {Dialect} dialect */
function compilerOf(dialect) {
  const ajv = shared.get(dialect) ?? makers[dialect]();
  shared.set(dialect, ajv);
  return ajv;
}

/** @param {Dialect} dialect @param {Schema} schema */
function compileAs(dialect, { $schema: _dialect, ...schema }) {
  // A compiler keeps the ids of its schemas, and references of other tools would find them. So a schema with an id gets its own compiler.
  if (JSON.stringify(schema).includes('"$id"')) return makers[dialect]().compile(schema);
  const ajv = compilerOf(dialect);
  try {
    return ajv.compile(schema);
  } finally {
    // The compiler would keep the schema permanently, and threads may bring any number of schemas.
    ajv.removeSchema(schema);
  }
}

/** @type {Map<string, import('ajv').ValidateFunction>} Compiled schemas by their JSON, the newest last. */
const compiled = new Map();
const mostCompiled = 200;
/** Maximum number of problems that are examined. */
const mostErrors = 1_000;
/** Maximum size of the reported problems, as JSON: each may contain all choices of a schema, and a key as long as the arguments. */
const mostErrorChars = 100_000;

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
    return { errors: firstErrors(validate.errors ?? []) };
  } catch (error) {
    return { thrown: error instanceof Error ? error.message : String(error) };
  }
}

/** Returns at least one error. @param {import('ajv').ErrorObject[]} found */
function firstErrors(found) {
  const errors = [];
  let chars = 0;
  for (const { instancePath, keyword, params, message } of found.slice(0, mostErrors)) {
    const error = { instancePath, keyword, params, message };
    chars += JSON.stringify(error).length;
    if (chars > mostErrorChars && errors.length > 0) break;
    errors.push(error);
  }
  return errors;
}

if (workerData === threadName) {
  parentPort?.on('message', (asked) => parentPort?.postMessage(check(asked)));
  // Reports that the thread is ready.
  parentPort?.postMessage({ errors: [] });
}

module.exports = { checkKeywords, compile, threadName };
