import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import type { JsonObject } from '../core/json';
import { firstProblems, pathOf } from './zod-problems';

type Dialect = 'draft-07' | '2020-12';

// Not strict: schemas written for other systems have keywords of theirs.
const options: Options = { strict: false, allErrors: true, logger: false };
const makers: Record<Dialect, () => Ajv> = {
  'draft-07': () => addFormats(new Ajv(options)),
  '2020-12': () => addFormats(new Ajv2020(options)),
};
const shared = new Map<Dialect, Ajv>();

/** What is wrong with a value, a line each; none when it fits. */
export type SchemaCheck = (value: unknown) => string[];

/** Compiles a schema that needs no other. Throws an `Error` that says why it is none. */
export function schemaCheck(schema: JsonObject): SchemaCheck {
  const validate = compile(schema);
  return (value) => (validate(value) ? [] : firstProblems([...new Set((validate.errors ?? []).map(words))]));
}

function compile(schema: JsonObject): ValidateFunction {
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

function dialectOf($schema: unknown): Dialect | undefined {
  if ($schema === undefined) return undefined;
  const uri = String($schema)
    .replace(/^https?:\/\//, '')
    .replace(/#$/, '');
  if (uri === 'json-schema.org/draft-07/schema') return 'draft-07';
  if (uri === 'json-schema.org/draft/2020-12/schema') return '2020-12';
  throw new Error(`$schema is ${JSON.stringify($schema)}; draft-07 and 2020-12 are known`);
}

function compileAs(dialect: Dialect, { $schema: _dialect, ...schema }: JsonObject): ValidateFunction {
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

function words({ instancePath, keyword, params, message = 'does not fit' }: ErrorObject): string {
  const path = instancePath.split('/').slice(1).map(step);
  const at = (key: string) => pathOf([...path, key]);
  if (keyword === 'required') return `${at(params.missingProperty)}: is required`;
  if (keyword === 'additionalProperties') return `${at(params.additionalProperty)}: is not known`;
  if (keyword === 'unevaluatedProperties') return `${at(params.unevaluatedProperty)}: is not known`;
  if (keyword === 'enum')
    return `${pathOf(path)}: must be one of ${params.allowedValues.map((value: unknown) => JSON.stringify(value)).join(', ')}`;
  if (keyword === 'const') return `${pathOf(path)}: must be ${JSON.stringify(params.allowedValue)}`;
  if (keyword === 'anyOf' || keyword === 'oneOf')
    return `${pathOf(path)}: fits ${params.passingSchemas ? 'more than one' : 'none'} of its forms`;
  return `${pathOf(path)}: ${message}`;
}

function step(text: string): string | number {
  return /^\d+$/.test(text) ? Number(text) : text.replaceAll('~1', '/').replaceAll('~0', '~');
}
