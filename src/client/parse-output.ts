import type { ThreadResult } from '../contract/thread';
import { shortText } from '../core/text';
import { messageOfThrown } from '../core/thrown';
import { LonghaulError } from './errors';

/** A schema with the interface of https://standardschema.dev, such as those of zod, valibot and arktype. */
export interface StandardSchema<Value> {
  readonly '~standard': { validate(value: unknown): Validated<Value> | Promise<Validated<Value>> };
}

type Validated<Value> = { value: Value; issues?: undefined } | { issues: readonly Issue[] };

interface Issue {
  message: string;
  path?: readonly (PropertyKey | { key: PropertyKey })[] | undefined;
}

export interface ParsedResult<Value> extends ThreadResult {
  /** `output`, parsed with the schema. */
  parsed: Value;
}

/** Checks the schema before `result()` waits, which may take hours. */
export function checkSchema(schema: StandardSchema<unknown>): void {
  if (typeof schema['~standard']?.validate === 'function') return;
  throw new LonghaulError('invalid-input', 'result: schema must be a zod schema, or another schema with the Standard Schema interface.');
}

export async function parsed<Value>(threadId: string, schema: StandardSchema<Value>, result: ThreadResult): Promise<ParsedResult<Value>> {
  const refuse = (why: string, cause?: unknown) => {
    const incomplete = result.status === 'incomplete' ? ` The run is incomplete: ${result.reason}` : '';
    const words = `The output of thread "${threadId}" does not fit the schema: ${shortText(why, 1_000)}.${incomplete}`;
    return new LonghaulError('output-invalid', words, undefined, { cause });
  };
  let value: unknown;
  try {
    value = JSON.parse(result.output);
  } catch (error) {
    throw refuse(`it is not valid JSON (${messageOfThrown(error)})`, error);
  }
  let checked: Validated<Value>;
  try {
    checked = await schema['~standard'].validate(value);
  } catch (error) {
    throw refuse(`it could not be checked (${messageOfThrown(error)})`, error);
  }
  if (checked.issues) throw refuse(checked.issues.map(wordsOf).join('; '), checked.issues);
  return { ...result, parsed: checked.value };
}

function wordsOf({ path = [], message }: Issue): string {
  const place = path.map((step) => String(typeof step === 'object' ? step.key : step)).join('.');
  return place === '' ? message : `${place}: ${message}`;
}
