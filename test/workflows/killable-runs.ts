import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Thread } from '../../src/client';
import { callTools, fail, hang, type Reply, type ScriptRequest, say } from '../../src/testing/model-server';
import type { Trace } from '../support/agents/killable';
import { inPackage } from '../support/in-package';
import { type Rig, startRig, startWorkerProcess, until, type WorkerProcess } from '../support/rig';
import { ofType, requestsOf, story } from './scenes';

/** Where a run stands still until its worker is killed. `retry-n`: turn n failed once and waits, its transcript deposited but not used. */
export const positions = [
  'model-0',
  'model-1',
  'model-2',
  'model-3',
  'model-4',
  'pure',
  'keyed',
  'once',
  'approval',
  'asked',
  'retry-2',
  'retry-4',
] as const;
export type Position = (typeof positions)[number] | 'nowhere';

const turns: Reply[] = [
  callTools([
    { name: 'pure', args: { n: 1 }, id: 'call_p1' },
    { name: 'pure', args: { n: 2 }, id: 'call_p2' },
  ]),
  callTools([{ name: 'keyed', args: {}, id: 'call_k' }]),
  callTools([{ name: 'once', args: {}, id: 'call_o' }]),
  callTools([{ name: 'asked', args: {}, id: 'call_a' }]),
  say('done'),
];

/** Long enough that every other run has come to its own position, and a second worker is up. */
const retryWaitMs = 15_000;

const workspaces: string[] = [];
afterAll(() => {
  for (const workspace of workspaces) rmSync(workspace, { recursive: true, force: true });
});

/** Runs with a tool of every effect and an approval, on workers that are processes of their own. */
export async function killableRuns() {
  const held = new Set<string>();
  const script = ({ input, turn }: ScriptRequest): Reply => {
    const position = input.split(' ')[0];
    const first = !held.has(`${input}/${turn}`);
    held.add(`${input}/${turn}`);
    if (first && position === `model-${turn}`) return hang();
    if (first && position === `retry-${turn}`) return fail(503, { headers: { 'retry-after-ms': String(retryWaitMs) } });
    return turns[turn] ?? fail(400, { message: `no turn ${turn}` });
  };
  const rig = await startRig({ script, agents: [], workers: 0 });
  const workspace = mkdtempSync(join(tmpdir(), 'longhaul-kill-'));
  workspaces.push(workspace);

  const traces = (thread: string): Trace[] => {
    const file = join(workspace, 'trace');
    const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
    return lines.map((line) => JSON.parse(line) as Trace).filter((trace) => trace.thread === thread);
  };
  return {
    rig,
    traces,
    startWorker: (): Promise<WorkerProcess> =>
      startWorkerProcess({
        address: rig.address,
        taskQueue: rig.taskQueue,
        agentsFile: inPackage('agents/killable.js'),
        modelUrl: rig.model.url,
        env: { LONGHAUL_WORKSPACE: workspace },
      }),
    /** A run that will stop at `position`. */
    async start(position: Position): Promise<KillableRun> {
      const id = `${position}-${Math.random().toString(36).slice(2, 10)}`;
      const hold = join(workspace, `hold-${id}-${position}`);
      if (['pure', 'keyed', 'once', 'asked'].includes(position)) writeFileSync(hold, '');
      const input = `${position} ${id}`;
      const thread = await rig.client.start('killable', input, { id });
      return { position, thread, input, release: () => rmSync(hold, { force: true }) };
    },
    /** Resolves once the run has stopped at its position. */
    async arrive({ position, thread, input }: KillableRun): Promise<void> {
      const [kind, turn] = position.split('-');
      const there = async () => {
        if (kind === 'approval') return (await thread.pending().catch(() => [])).length === 1;
        if (kind === 'model' || kind === 'retry') return requestsOf(rig, input).some((request) => request.turn === Number(turn));
        return traces(thread.id).some((trace) => trace.tool === position && trace.what === 'begins');
      };
      // If its position is not the approval, it must not wait there, either.
      while (!(await there())) {
        if (kind !== 'approval') await approve(thread);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    },
    /** Approves what there is to approve, until the run is over. */
    async finish({ thread }: KillableRun, ms: number): Promise<void> {
      await until(
        async () => {
          await approve(thread);
          return (await rig.client.temporal.workflow.getHandle(thread.id).describe()).status.name;
        },
        (status) => status !== 'RUNNING',
        ms,
      );
    },
    /** When the work that was running at the kill began again, if it did. */
    takenOverAt({ position, thread, input }: KillableRun): number | undefined {
      const [kind, turn] = position.split('-');
      if (kind === 'model') return requestsOf(rig, input).filter((request) => request.turn === Number(turn))[1]?.at;
      return traces(thread.id).find((trace) => trace.tool === position && trace.what === 'begins' && trace.attempt > 1)?.at;
    },
  };
}

export interface KillableRun {
  position: Position;
  thread: Thread;
  input: string;
  release(): void;
}

async function approve(thread: Thread): Promise<void> {
  const pending = await thread.pending().catch(() => []);
  for (const { toolCallId } of pending) await thread.approve(toolCallId).catch(() => undefined);
}

/** The run ended right: every turn there once, no `once` tool twice, retries with the same key. */
export async function expectWhole(rig: Rig, run: KillableRun, traces: readonly Trace[], { unknown = false } = {}): Promise<void> {
  const { thread, input, position } = run;
  const told = await story(thread);
  expect({ position, end: told.at(-1) }).toMatchObject({
    position,
    end: { type: 'thread.run.completed', data: { output: 'done', turns: 5 } },
  });
  const messages = await thread.messages();
  expect(messages.map((m) => m.role)).toEqual([
    'user',
    'assistant',
    'tool',
    'tool',
    'assistant',
    'tool',
    'assistant',
    'tool',
    'assistant',
    'tool',
    'assistant',
  ]);

  const begun = traces.filter((trace) => trace.what === 'begins');
  expect(begun.filter((trace) => trace.tool === 'once')).toHaveLength(1);
  for (const tool of ['keyed', 'asked'])
    expect(new Set(begun.filter((trace) => trace.tool === tool).map((trace) => trace.key)).size).toBe(1);

  const outcomes = Object.fromEntries(ofType(told, 'agent.tool.execution.completed').map(({ data }) => [data.toolCallId, data.status]));
  const success = { call_p1: 'success', call_p2: 'success', call_k: 'success', call_o: 'success', call_a: 'success' };
  expect({ position, outcomes }).toEqual({ position, outcomes: { ...success, ...(unknown && { call_o: 'unknown' }) } });

  // The last request has the whole conversation, whatever worker made it.
  const last = requestsOf(rig, input).at(-1)?.body.messages ?? [];
  expect(last.map((m) => m.role)).toEqual(['system', ...messages.slice(0, -1).map((m) => m.role)]);
}
