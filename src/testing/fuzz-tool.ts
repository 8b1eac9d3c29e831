import { tmpdir } from 'node:os';
import type { ToolCall } from '../core/message';
import type { Dependencies, Tool } from '../tools/defining/define-tool';
import { createToolbox } from '../tools/running/toolbox';
import { confusedArguments, seeded } from './confused-arguments';

export interface FuzzOptions {
  /** Default 200. */
  calls?: number | undefined;
  /** The same seed makes the same calls. Default 1. */
  seed?: number | undefined;
  /** `ctx.workspace`. Default: the folder for temporary files. Give the tool an empty folder if it writes. */
  workspace?: string | undefined;
  /** What `ctx.resolve` returns, as for a worker. */
  dependencies?: Dependencies | undefined;
}

export interface FuzzFinding {
  /**
   * `threw`: `execute` threw something other than `ToolFailure`, so the call is tried again, and the model gets an internal error.
   * `timed-out`: it did not end within the timeout. `approval`: the approval rule threw, so a person is asked about each such call.
   */
  problem: 'threw' | 'timed-out' | 'approval';
  /** The arguments as the model would have written them. */
  arguments: string;
  message: string;
}

export interface FuzzReport {
  calls: number;
  /** Calls whose arguments were refused before the tool ran. */
  rejected: number;
  /** Calls that the tool ran. */
  ran: number;
  /** Those that failed with a message for the model. */
  failed: number;
  /** One for each problem and message, with the shortest arguments that cause it. */
  findings: FuzzFinding[];
}

/**
 * Calls a tool with what a confused model sends: missing, wrong and extra arguments, odd texts and numbers, broken JSON. **The tool really runs**, so
 * give it test doubles. A tool that is fit for models has no findings: it refuses such arguments by its `input`, or throws `ToolFailure`.
 */
export async function fuzzTool(tool: Tool, options: FuzzOptions = {}): Promise<FuzzReport> {
  const { calls = 200, seed = 1, workspace = tmpdir(), dependencies } = options;
  if (!tool.execute) throw new TypeError(`fuzzTool: '${tool.name}' has no execute: it is answered from outside.`);
  const toolbox = createToolbox([tool]);
  const random = seeded(seed);
  const report = { calls, rejected: 0, ran: 0, failed: 0 };
  const findings = new Map<string, FuzzFinding>();
  const found = (problem: FuzzFinding['problem'], { arguments: args }: ToolCall, message: string) => {
    const key = `${problem} ${message}`;
    const known = findings.get(key);
    if (!known || args.length < known.arguments.length) findings.set(key, { problem, arguments: args, message });
  };
  for (let at = 1; at <= calls; at++) {
    const call: ToolCall = { id: `fuzz_${at}`, name: tool.name, arguments: confusedArguments(tool.parameters, random) };
    const verdict = await toolbox.judge(call);
    const reason = verdict.kind === 'run' ? verdict.approval?.reason : undefined;
    if (reason?.startsWith('The approval rule ')) found('approval', call, reason);
    const { outcome, threw } = await toolbox.execute(call, {
      signal: new AbortController().signal,
      idempotencyKey: `fuzz-${seed}-${at}`,
      threadId: 'fuzz',
      runId: 'fuzz',
      attempt: 1,
      workspace,
      ...(dependencies && { dependencies }),
    });
    if (outcome.status === 'rejected') {
      report.rejected++;
      continue;
    }
    report.ran++;
    if (outcome.status !== 'success') report.failed++;
    const message = outcome.error?.message ?? outcome.status;
    if (outcome.status === 'timed-out') found('timed-out', call, message);
    else if (threw) found('threw', call, message);
  }
  return { ...report, findings: [...findings.values()] };
}
