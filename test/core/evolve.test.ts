import fc from 'fast-check';
import { formatNames } from '../../src/cli/views/format-names';
import { createLines } from '../../src/cli/views/formats';
import { bytesOf } from '../../src/core/context/carry';
import type { DurableEvent } from '../../src/core/event';
import { isTerminal } from '../../src/core/event';
import { evolve } from '../../src/core/evolve';
import { join } from '../../src/core/log';
import { type Message, textOf, toolCallsOf } from '../../src/core/message';
import { measure } from '../../src/core/metrics';
import { workedMs } from '../../src/core/spent';
import { newThread, transcriptRef } from '../../src/core/state';
import { hashOf } from '../../src/core/transcript';
import { oneringaiStream } from '../../src/projections/oneringai/stream';
import { project } from '../../src/projections/projection';
import { rounds } from '../support/rounds';
import { plot, Story } from './story';

const runs = { numRuns: rounds(10) };

/** Without the run and step that a message carries once it is in the transcript. */
function bare(event: DurableEvent): unknown {
  return JSON.parse(JSON.stringify(event), (key, value) => {
    if (key !== 'message' && key !== 'initialMessages' && key !== 'finalMessages') return value;
    const strip = ({ runId: _, stepId: __, ...rest }: Message) => rest;
    return Array.isArray(value) ? value.map(strip) : strip(value);
  });
}

/** Where a value is not what its JSON would give back, or undefined. */
function notJson(value: unknown, path = 'state'): string | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return undefined;
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0) ? undefined : path;
  if (typeof value !== 'object' || !/^(Object|Array)$/.test(value.constructor?.name ?? 'Object')) return path;
  for (const [key, inner] of Object.entries(value)) {
    const wrong = notJson(inner, `${path}.${key}`);
    if (wrong) return wrong;
  }
  return undefined;
}

describe('a thread, event by event', () => {
  test('is plain JSON, and equals its own JSON, after every event', () => {
    fc.assert(
      fc.property(plot, (runs) => {
        new Story((state) => expect(notJson(state)).toBeUndefined()).play(runs);
      }),
      runs,
    );
  });

  test('[A1] numbers its events from 1 without gaps, and each carries its type, time, thread, run and data', () => {
    fc.assert(
      fc.property(plot, (runs) => {
        const { state } = new Story().play(runs);
        const events = state.log.map((record) => join(record, state));
        expect(events.map((e) => e.seq)).toEqual(events.map((_, i) => i + 1));
        expect(state.nextSeq).toBe(events.length + 1);
        for (const event of events) {
          expect(event).toEqual({
            seq: expect.any(Number),
            type: expect.any(String),
            timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
            threadId: 'thread_1',
            runId: event.type === 'thread.message.queued' ? event.runId : expect.any(String),
            data: expect.any(Object),
          });
        }
      }),
      runs,
    );
  });

  test('gives its readers the recorded events, although the log only refers to messages', () => {
    fc.assert(
      fc.property(plot, (runs) => {
        const { state, events } = new Story().play(runs);
        expect(state.log.map((record) => bare(join(record, state)))).toEqual(events.map(bare));
      }),
      runs,
    );
  });

  test('shows a reader in the middle the same events as one at the end', () => {
    fc.assert(
      fc.property(plot, (runs) => {
        const seen: unknown[] = [];
        const story = new Story((state, event) => {
          // A call is recorded before the message it is part of; both are recorded together, so no reader sees only one of them.
          if (!event.type.startsWith('thread.run.step.tool_call')) seen.push(bare(join(state.log.at(-1)!, state)));
        }).play(runs);
        expect(seen).toEqual(story.events.filter((e) => !e.type.startsWith('thread.run.step.tool_call')).map(bare));
      }),
      runs,
    );
  });

  test('[B8][B46] pairs every call with one result, directly after its answer and in the order of the calls, however the run ends', () => {
    fc.assert(
      fc.property(plot, (runs) => {
        const { state } = new Story().play(runs);
        state.messages.forEach((message, i) => {
          if (message.role !== 'assistant') return;
          const asked = toolCallsOf(message.content);
          const results = state.messages.slice(i + 1, i + 1 + asked.length);
          expect(results.map((m) => (m.role === 'tool' ? m.toolCallId : m.role))).toEqual(asked.map((call) => call.id));
        });
        const calls = state.messages.flatMap((m) => (m.role === 'assistant' ? toolCallsOf(m.content) : []));
        expect(state.messages.filter((m) => m.role === 'tool')).toHaveLength(calls.length);
        expect(state.run?.calls).toEqual([]);
      }),
      runs,
    );
  });

  test('[A13] has one terminal event a run, and it is the last of the run', () => {
    fc.assert(
      fc.property(plot, (runs) => {
        const { events } = new Story().play(runs);
        const ids = new Set(events.flatMap((e) => e.runId ?? []));
        expect(ids.size).toBe(runs.length);
        for (const id of ids) {
          const own = events.filter((e) => e.runId === id);
          expect(own.findIndex(isTerminal)).toBe(own.length - 1);
        }
      }),
      runs,
    );
  });

  test('[A8] keeps the transcript, its hash and its reference consistent, each message with its run and step', () => {
    fc.assert(
      fc.property(plot, (runs) => {
        const { state } = new Story((s) => expect(s.hash).toBe(hashOf(s.messages))).play(runs);
        expect(transcriptRef(state)).toMatchObject({ length: state.messages.length, hash: state.hash, epoch: 0 });
        for (const message of state.messages) {
          expect(message.runId).toMatch(/^run_/);
          // Results of a turn that had no successor were never sent to a model: they have a run and no step.
          if (message.role !== 'tool') expect(message.stepId).toMatch(`${message.runId}-turn-`);
        }
        expect(new Set(state.messages.map((m) => m.id)).size).toBe(state.messages.length);
      }),
      runs,
    );
  });

  test('[A219] adds up the usage of the answers, for the run and for the thread', () => {
    fc.assert(
      fc.property(plot, (runs) => {
        const { state, events } = new Story().play(runs);
        const inputTokens = (of: DurableEvent[]) =>
          of.reduce(
            (n, e) => n + (e.type === 'thread.message.completed' || e.type === 'agent.run.summarized' ? e.data.usage.inputTokens : 0),
            0,
          );
        expect(state.usage.inputTokens).toBe(inputTokens(events));
        expect(state.run?.usage.inputTokens).toBe(inputTokens(events.filter((e) => e.runId === state.run?.id)));
      }),
      runs,
    );
  });

  test('counts calls that were executed against the limit, also those executed outside', () => {
    const story = new Story();
    story.say('go');
    story.begin();
    const done = { arguments: '{}', status: 'success' as const, output: 'ok' };
    story.turn({
      text: '',
      said: [],
      calls: [
        { ...done, verdict: { kind: 'run', effect: 'pure', timeoutMs: 1 } },
        { ...done, verdict: { kind: 'external' } },
        { ...done, verdict: { kind: 'reject', error: { name: 'ToolNotFoundError', message: 'no' } } },
        { ...done, status: 'denied', verdict: { kind: 'run', effect: 'pure', timeoutMs: 1, approval: {} } },
      ],
    });
    expect(story.state.run?.toolCalls).toBe(2);
  });
});

test('a removed message is shown as removed, and as nothing else: its role and its calls stay known', () => {
  // The fields of a message other than its text.
  const shapeOf = (message: Message) =>
    message.role === 'assistant'
      ? { id: message.id, role: message.role, calls: toolCallsOf(message.content).map(({ id, name }) => ({ id, name })) }
      : { ...message, content: undefined };
  fc.assert(
    fc.property(plot, (runs) => {
      const { state, events } = new Story().play(runs);
      const gone = { ...state, messages: [] };
      const told = gone.log.map((record) => join(record, gone));
      const messagesOf = ({ data }: DurableEvent): Message[] => {
        const { message, initialMessages = [], finalMessages = [] } = data as Record<string, unknown>;
        const one = message && typeof message === 'object' ? [message] : [];
        return [...one, ...(initialMessages as []), ...(finalMessages as [])] as Message[];
      };
      expect(told.map((event) => messagesOf(event).map(shapeOf))).toEqual(events.map((event) => messagesOf(event).map(shapeOf)));
      const words = told
        .filter(({ type }) => type === 'thread.message.completed' || type === 'thread.run.completed')
        .flatMap((event) => messagesOf(event).map(({ content }) => textOf(content)));
      expect(words.filter((said) => said !== '[no longer kept]')).toEqual([]);
    }),
    runs,
  );
});

test('a compacted log can be projected to every format', () => {
  fc.assert(
    fc.property(plot, (runs) => {
      const { state } = new Story().play(runs);
      const gone = { ...state, messages: [] };
      const told = gone.log.map((record) => join(record, gone));
      for (const format of formatNames) expect(told.map(createLines(format)).some(({ text }) => text !== '')).toBe(true);
      expect(project(oneringaiStream(), told).length).toBeGreaterThan(0);
    }),
    runs,
  );
});

test('a call whose message was removed keeps its id and its name', () => {
  const verdict = { kind: 'run', effect: 'pure', timeoutMs: 1 } as const;
  const calls = [{ arguments: '{"a":1}', verdict, status: 'success' as const, output: 'ok' }];
  const { state } = new Story().play([{ input: 'one', turns: [{ text: '', calls, said: [] }], end: 'completed' }]);
  const called = state.log.find(({ type }) => type === 'thread.run.step.tool_call.completed_by_llm')!;
  expect(join(called, state).data).toMatchObject({ toolCall: { name: 'tool', arguments: '{"a":1}' } });
  const { id } = (join(called, state).data as { toolCall: { id: string } }).toolCall;
  expect(join(called, { ...state, messages: [] }).data).toEqual(
    expect.objectContaining({ toolCall: { id, name: 'tool', arguments: '[no longer kept]' } }),
  );
});

test('a removed message reduces the context until the next call measures it', () => {
  const story = new Story().play([{ input: 'one', turns: [{ text: 'x'.repeat(1_000), calls: [], said: [] }], end: 'completed' }]);
  const { state } = story;
  const [first] = state.messages;
  Object.assign(state.run!, { context: 10_000 });
  const bytes = bytesOf(state.messages) / 4;
  story.record(
    'thread.context.compacted',
    { reason: 'requested', prunedOutputs: 0, droppedMessages: 1, bytes },
    { transcript: { messages: [first!], hash: hashOf([first!]) } },
  );
  expect(state.run?.context).toBe(2_500);
});

test('the clock of a run stops while it is paused, also if it waits meanwhile, or was paused before it began', () => {
  const state = newThread({ threadId: 't', agent: 'a', mode: 'conversation', overrides: {}, queue: [] });
  const at = (ms: number, type: string, data: object = {}) =>
    evolve(state, { seq: state.nextSeq, type, timestamp: new Date(ms).toISOString(), threadId: 't', runId: 'r', data } as never);
  const worked = (now: number) => workedMs(state.run!, now);
  at(0, 'agent.run.paused', { reason: 'p' });
  at(1_000, 'agent.run.created', { initialMessages: [] });
  expect(worked(5_000)).toBe(0);
  at(5_000, 'agent.run.resumed');
  at(7_000, 'agent.run.paused', { reason: 'p' });
  at(8_000, 'agent.run.status.changed', { status: 'requires_action' });
  at(9_000, 'agent.run.status.changed', { status: 'in_progress' });
  expect(worked(10_000)).toBe(2_000);
  at(10_000, 'agent.run.resumed');
  expect(worked(11_000)).toBe(3_000);
  at(12_000, 'agent.run.paused', { reason: 'p' });
  at(13_000, 'thread.run.cancelled');
  expect(worked(99_000)).toBe(4_000);
});

test('a tool is counted by its name, whatever the name is', () => {
  const { metrics } = newThread({ threadId: 't', agent: 'a', mode: 'conversation', overrides: {}, queue: [] });
  const event = { type: 'agent.tool.execution.completed', data: { name: 'constructor', status: 'success', durationMs: 5 } };
  measure(metrics, event as never, null);
  expect(metrics.tools).toEqual({ constructor: { calls: 1, failed: 0, timedOut: 0, durationMs: 5 } });
});
