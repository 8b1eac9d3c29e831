import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { ErrorObject } from 'ajv';
import type { JsonObject } from '../core/json';
import { compile, threadName } from './schema-thread.js';
import { firstProblems, pathOf } from './zod-problems';

/** What is wrong with a value, a line each; none when it fits. Rejects where it can't be told, or not in time. */
export type SchemaCheck = (value: unknown) => Promise<string[]>;

/** A check against a schema that needs no other, which need not be one: then each check rejects. */
export function schemaCheck(schema: JsonObject): SchemaCheck {
  const text = JSON.stringify(schema);
  return async (value) => {
    const errors = await inThread({ schema: text, value });
    return firstProblems([...new Set(errors.map(words))]);
  };
}

/** Throws an `Error` that says why something is no schema. */
export function mustBeSchema(schema: JsonObject): void {
  compile(schema);
}

/** A thousand times what a check takes; what takes longer does not end. The event loop does not wait for it. */
const checkMs = 2_000;
/** A thread that nobody needs is ended: it takes some megabytes. */
const idleMs = 30_000;
const threadMb = 128;

type SchemaError = Pick<ErrorObject, 'instancePath' | 'keyword' | 'params' | 'message'>;
type Asked = { schema: string; value: unknown };
type Answer = { errors: SchemaError[] } | { thrown: string };

/** One check at a time, so that one that does not end can be ended alone. */
let turn: Promise<unknown> = Promise.resolve();
let thread: SchemaThread | undefined;
let idle: NodeJS.Timeout | undefined;

function inThread(asked: Asked): Promise<SchemaError[]> {
  const mine = turn.then(() => check(asked));
  turn = mine.catch(() => undefined);
  return mine;
}

async function check(asked: Asked): Promise<SchemaError[]> {
  clearTimeout(idle);
  thread ??= new SchemaThread();
  try {
    const answer = await thread.ask(asked);
    if ('thrown' in answer) throw new Error(answer.thrown);
    return answer.errors;
  } finally {
    if (thread.hasEnded) thread = undefined;
    else idle = setTimeout(endThread, idleMs).unref();
  }
}

function endThread(): void {
  thread?.end(new Error('the thread was idle'));
  thread = undefined;
}

/** The other end of `schema-thread.js`. It keeps the process alive only while it is asked something. */
class SchemaThread {
  hasEnded = false;
  readonly #worker: Worker;
  readonly #ready: Promise<Answer>;
  #waiting: { resolve(answer: Answer): void; reject(error: Error): void } | undefined;

  constructor() {
    this.#worker = new Worker(join(__dirname, 'schema-thread.js'), {
      workerData: threadName,
      // What this process was started with (a loader, say) is not for the thread, and nothing of the environment either.
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: threadMb },
    });
    this.#worker.on('message', (answer: Answer) => this.#waiting?.resolve(answer));
    this.#worker.on('error', (error) => this.end(new Error(`the check against the schema ended early: ${error.message}`)));
    this.#worker.on('exit', () => this.end(new Error('the check against the schema ended early')));
    this.#ready = this.#next();
  }

  async ask(asked: Asked): Promise<Answer> {
    this.#worker.ref();
    await this.#ready;
    const deadline = setTimeout(() => this.end(new Error(`the check against the schema took more than ${checkMs / 1_000} s`)), checkMs);
    try {
      const answer = this.#next();
      this.#worker.postMessage(asked);
      return await answer;
    } finally {
      clearTimeout(deadline);
      this.#worker.unref();
    }
  }

  end(why: Error): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.#waiting?.reject(why);
    void this.#worker.terminate();
  }

  #next(): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }
}

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
