import { compile } from './support/compile';

/**
 * What callers pass: of all parameters of all exports, the optional properties that may be left out but not given as undefined. Compiled with
 * `exactOptionalPropertyTypes`, with which `{ by: maybe }` needs a `by?: string | undefined`.
 */
const code = `
import type * as client from 'longhaul/client';
import type * as main from 'longhaul';
import type * as testing from 'longhaul/testing';
import type * as worker from 'longhaul/worker';
import type { Client, Connection, ConnectionOptions, DataConverter } from '@temporalio/client';
import type { NativeConnection, WorkerOptions } from '@temporalio/worker';
import type { z } from 'zod';

type Callable = ((...args: never[]) => unknown) | (abstract new (...args: never[]) => unknown);
/** What other packages define. */
type Foreign = AbortSignal | URL | Client | Connection | ConnectionOptions | DataConverter | NativeConnection | Partial<WorkerOptions> | z.ZodType | testing.History;
/** What callers get from the package and pass back, or implement. */
type Passed =
  | main.Message | main.PendingCall | main.AgentEvent | main.Tool | main.Agent | main.LonghaulClient | main.ArtifactStore | main.PermissionStore
  | main.TokenStore | main.KeyProvider | main.JsonSchema | main.AnswerPart | main.ToolGroup | main.ToolProvider | main.AgentWorker | testing.RecordedHistory;
type Leaf = string | number | boolean | bigint | symbol | null | undefined | Callable | Foreign | Passed;
/** Methods that a definition may have. */
type Method = 'compensate' | 'end' | 'execute' | 'hold' | 'probe';

type Refused<T, Depth extends 0[] = []> = Depth['length'] extends 4 ? never
  : T extends Leaf ? never
  : T extends readonly (infer Item)[] ? Refused<Item, [...Depth, 0]>
  : T extends object ? { [K in keyof T & string]-?: RefusedAt<T, K> | (\`\${K}.\${Refused<NonNullable<T[K]>, [...Depth, 0]>}\`) }[keyof T & string]
  : never;
type RefusedAt<T, K extends keyof T & string> =
  string extends K ? never : {} extends Pick<T, K> ? ({ [P in K]: undefined } extends Pick<T, K> ? never : Exclude<K, Method>) : never;

type OfFunction<F> = F extends (...args: infer Args) => unknown ? Refused<Args[number]> : never;
type OfExport<E> = E extends abstract new (...args: infer Args) => infer Made
  ? E extends abstract new (...args: never[]) => Error ? never : Refused<Args[number]> | OfMethods<Made> | OfMethods<E>
  : OfFunction<E>;
type OfMethods<T> = { [K in keyof T]: OfFunction<T[K]> }[keyof T];
type Problems<Api> = { [K in keyof Api & string]: \`\${K}: \${OfExport<Api[K]> & string}\` }[keyof Api & string];

export const problems: ''
  | \`main \${Problems<typeof main>}\` | \`client \${Problems<typeof client>}\` | \`worker \${Problems<typeof worker>}\` | \`testing \${Problems<typeof testing>}\` = 0;

declare const by: string | undefined;
declare const thread: main.Thread;
void thread.approve('call', { by, reason: by });
for await (const event of thread.events()) {
  const seq: number | undefined = event.seq;
  if (event.seq !== undefined) event satisfies main.DurableEvent;
  void seq;
}
`;

test('every option may be given as undefined, also with exactOptionalPropertyTypes, and every event may be asked for its seq', () => {
  const told = compile(new Map([['options.mts', code]]), { exactOptionalPropertyTypes: true, noErrorTruncation: true });
  // The sources of this package are compiled too, and do not use the option themselves.
  const ours = told.split('\n').filter((line) => line.includes('options.mts'));
  expect(ours).toEqual([expect.stringContaining(`Type '0' is not assignable to type '""'.`)]);
});
