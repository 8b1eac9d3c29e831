import { join } from 'node:path';
import type { ErrorObject } from 'ajv';
import type { JsonObject } from '../../core/json';
import { BoundedThread } from './bounded-thread';
import { LateSchemas } from './late-schemas';
import { checkKeywords, compile, threadName } from './schema-thread.js';
import { firstProblems, pathOf } from './zod-problems';

/** Returns the problems of a value, one line each; none if it is valid. Rejects if the value can't be validated, or not in time. */
export type SchemaCheck = (value: unknown) => Promise<string[]>;

/** The author of a schema: the developer of the agent (`own`), or a client (`foreign`). */
export type SchemaOrigin = 'own' | 'foreign';

/** Creates a validation against a self-contained schema. If the schema is invalid, each validation rejects. */
export function schemaCheck(schema: JsonObject, origin: SchemaOrigin): SchemaCheck {
  const text = JSON.stringify(schema);
  return async (value) => {
    const errors = await lines[origin].check({ schema: text, value });
    return firstProblems([...new Set(errors.map(words))]);
  };
}

/** Throws an `Error` with the reason if the schema is invalid. */
export function mustBeSchema(schema: JsonObject): void {
  compile(schema);
}

/** As `mustBeSchema`, for the schema of an untrusted author: compiles nothing, so it finds only values that keywords can't have. */
export function mustLookLikeSchema(schema: JsonObject): void {
  checkKeywords(schema);
}

/** A thousand times a normal validation; one that takes longer is unlikely to end. The event loop does not wait for it. */
const checkMs = 2_000;
/** An idle thread is ended, because it takes some megabytes. */
const idleMs = 30_000;
const threadMb = 128;
const thread = {
  file: join(__dirname, 'schema-thread.js'),
  name: threadName,
  what: 'the check against the schema',
  ms: checkMs,
  mb: threadMb,
};

type SchemaError = Pick<ErrorObject, 'instancePath' | 'keyword' | 'params' | 'message'>;
type Asked = { schema: string; value: unknown };
type Answer = { errors: SchemaError[] } | { thrown: string };

/** A queue of validations: one at a time, so that one that does not end can be aborted alone. */
class Line {
  /** Set for schemas of untrusted authors. */
  readonly #late: LateSchemas | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #thread: BoundedThread<Asked, Answer> | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(late?: LateSchemas) {
    this.#late = late;
  }

  check(asked: Asked): Promise<SchemaError[]> {
    const mine = this.#turn.then(() => this.#check(asked));
    this.#turn = mine.catch(() => undefined);
    return mine;
  }

  async #check(asked: Asked): Promise<SchemaError[]> {
    if (this.#late?.has(asked.schema))
      throw new Error('a check against the schema did not end in time; the schema is rejected for one minute');
    clearTimeout(this.#idle);
    this.#thread ??= new BoundedThread(thread);
    const running = this.#thread;
    try {
      await running.ready;
      const answer = await running.ask(asked).catch((error: unknown) => {
        this.#late?.add(asked.schema);
        throw error;
      });
      if ('thrown' in answer) throw new Error(answer.thrown);
      return answer.errors;
    } finally {
      if (running.hasEnded) this.#thread = undefined;
      else this.#idle = setTimeout(() => this.#rest(), idleMs).unref();
    }
  }

  #rest(): void {
    this.#thread?.end(new Error('the thread was idle'));
    this.#thread = undefined;
  }
}

/** Two queues: foreign schemas may delay each other, and never the agent's own tools. */
const lines: Record<SchemaOrigin, Line> = { own: new Line(), foreign: new Line(new LateSchemas()) };

function words({ instancePath, keyword, params, message = 'does not fit' }: SchemaError): string {
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
