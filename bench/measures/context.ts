import { measureContext } from '../../src/activities/steps/measure-context';
import type { LonghaulClient } from '../../src/client';
import { tokensOf } from '../../src/core/context/tokens';
import { type Message, noUsage } from '../../src/core/message';
import { median } from '../numbers';
import type { Rig } from '../rig';

export interface Context {
  /** The size of the state that each execution began with, in bytes of its payload without compression. */
  carriedBytes: number[];
  /** The largest request to the model, as the model server counted it. */
  mostTokens: number;
  /** Counting the tokens of an output of 1 MB, in milliseconds: in an activity, if the provider counts none, and in workflow code. */
  countMs: number;
  countInWorkflowMs: number;
}

/** Runs a thread that fills a window of 128,000 tokens, and that continues as new every few turns. */
export async function measureWindow(rig: Rig, turns: number): Promise<Context> {
  const worker = await rig.startWorker('longhaul', { options: { continueAsNewAfter: { events: 60, bytes: 4_000_000 } } });
  try {
    const id = await worker.finish({ turns }, { agent: 'bench-window' });
    const bytes = (await rig.requests(id)).map((request) => request.bytes);
    return { carriedBytes: await carriedStates(rig.client, id), mostTokens: Math.round(Math.max(...bytes) / 4), ...countingTimes() };
  } finally {
    await worker.kill();
  }
}

async function carriedStates({ temporal }: LonghaulClient, workflowId: string): Promise<number[]> {
  const { namespace } = temporal.options;
  const sizes: number[] = [];
  for (let { runId } = await temporal.workflow.getHandle(workflowId).describe(); runId !== ''; ) {
    const execution = { workflowId, runId };
    const { history } = await temporal.workflowService.getWorkflowExecutionHistory({ namespace, execution, maximumPageSize: 1 });
    const started = history?.events?.[0]?.workflowExecutionStartedEventAttributes;
    const state = started?.input?.payloads?.[1]?.data;
    if (state) sizes.push(state.length);
    runId = started?.continuedExecutionRunId ?? '';
  }
  return sizes.reverse();
}

const outputBytes = 1_000_000;
const texts = {
  latin: 'The worker reads the transcript. ',
  chinese: '工作进程读取对话记录。',
};

/** The slower one of the texts. */
function countingTimes(): Pick<Context, 'countMs' | 'countInWorkflowMs'> {
  const times = Object.values(texts).map((sentence) => {
    const outputs = Array.from({ length: 9 }, (_, i) => outputOf(sentence, i));
    return {
      countMs: median(
        outputs.map((message) =>
          timed(() => measureContext('bench-model', { instructions: '', tools: '', messages: [message] }, unmeasured, {})),
        ),
      ),
      countInWorkflowMs: median(outputs.map((message) => timed(() => tokensOf([message])))),
    };
  });
  return {
    countMs: Math.max(...times.map((one) => one.countMs)),
    countInWorkflowMs: Math.max(...times.map((one) => one.countInWorkflowMs)),
  };
}

/** An answer of a provider that reports no usage. */
const unmeasured = { parts: [], finishReason: 'stop' as const, usage: noUsage };

/** Each is another text, decoded from bytes as those that a tool returns. */
function outputOf(sentence: string, i: number): Message {
  const text = `${i} ${sentence.repeat(Math.ceil(outputBytes / Buffer.byteLength(sentence)))}`;
  const content = Buffer.from(text).toString('utf8');
  return { id: `msg_${i}`, role: 'tool', toolCallId: `call_${i}`, name: 'tool', content, isError: false };
}

function timed(work: () => unknown): number {
  const began = performance.now();
  work();
  return performance.now() - began;
}
