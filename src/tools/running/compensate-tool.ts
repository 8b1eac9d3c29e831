import type { Json } from '../../core/json';
import type { ToolCall } from '../../core/message';
import { shortText } from '../../core/text';
import type { Tool } from '../defining/define-tool';
import { errorFacts } from '../defining/thrown';
import { isToolFailure } from '../defining/tool-failure';
import { runWithin, type ToolHost } from './run-within';

/** How one attempt at a compensation ended. `final`: another attempt would not help. `stopped`: the worker shuts down. */
export type Compensated = { status: 'done' } | { status: 'failed'; message: string; final: boolean } | { status: 'stopped' };

/** Compensates a call of a `saga` tool, with validated arguments. Never rejects. */
export async function compensateTool(
  { name, compensate }: Tool,
  call: ToolCall,
  given: { args: unknown; output: Json | undefined },
  host: ToolHost & { timeoutMs: number },
): Promise<Compensated> {
  if (!compensate) return { status: 'failed', message: `Tool '${name}' has no compensate any more.`, final: true };
  const { end, aborted } = await runWithin(call, host, {
    timeoutMs: host.timeoutMs,
    run: (ctx) => compensate(given.args, given.output, ctx),
  });
  // What it returned in time counts, also if the worker began to shut down meanwhile.
  if (end?.kind === 'value') return { status: 'done' };
  if (host.signal.aborted) return { status: 'stopped' };
  const error = end?.kind === 'thrown' ? end.error : aborted;
  return { status: 'failed', message: shortText(errorFacts(error).message, 1_000), final: isToolFailure(error) };
}
