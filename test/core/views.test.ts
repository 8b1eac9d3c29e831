import fc from 'fast-check';
import { bytesOf } from '../../src/core/context/carry';
import { details, taskDetails } from '../../src/core/details';
import type { PendingCall } from '../../src/core/event';
import { join } from '../../src/core/log';
import { newThread } from '../../src/core/state';
import {
  closingSummary,
  eventPage,
  messagePage,
  modelSummary,
  page,
  pendingCalls,
  threadStatus,
  toolSummary,
  waitSummary,
} from '../../src/core/views';
import { plot, Story } from './story';

const pageBytes = 1_200_000;

describe('pages', () => {
  test('give every item exactly once, in order, whatever the sizes and the limit', () => {
    const sizes = fc.array(fc.oneof(fc.nat(50), fc.constantFrom(300_000, 700_000, 1_300_000)), { maxLength: 12 });
    fc.assert(
      fc.property(sizes, fc.nat(5), (sizes, limit) => {
        const items = sizes.map((size, i) => `${i}${'x'.repeat(size)}`);
        const got: string[] = [];
        for (let at = 0; at < items.length; ) {
          const { items: some, next } = page(items, at, limit, (item) => item);
          expect(some.length).toBeGreaterThan(0);
          expect(next).toBe(at + some.length);
          if (some.length > 1) expect(bytesOf(some)).toBeLessThan(pageBytes + 100);
          got.push(...some);
          at = next;
        }
        expect(got).toEqual(items);
      }),
      { numRuns: 40 },
    );
  });

  test('of events continue by seq, from wherever a reader stopped, also past the end', () => {
    fc.assert(
      fc.property(plot, fc.integer({ min: 1, max: 9 }), fc.nat(200), (runs, limit, from) => {
        const { state } = new Story().play(runs);
        const wanted = state.log.filter((r) => r.seq >= from).map((record) => join(record, state));
        const got = [];
        let next = from;
        for (let more = true; more; ) {
          const some = eventPage(state, next, limit);
          expect(some.events.length).toBeLessThanOrEqual(limit);
          expect(some.next).toBe((some.events.at(-1)?.seq ?? next - 1) + 1 || next);
          got.push(...some.events);
          ({ next, more } = some);
        }
        expect(got).toEqual(wanted);
      }),
      { numRuns: 30 },
    );
  });

  test('of events begin where the log of this execution does', () => {
    const { state } = new Story().play([{ input: 'hi', turns: [{ text: 'ho', calls: [], said: [] }], end: 'completed' }]);
    const carried = { ...state, log: state.log.slice(4) };
    expect(eventPage(carried, 1, 2)).toMatchObject({ events: [{ seq: 5 }, { seq: 6 }], next: 7, more: true });
    expect(eventPage({ ...state, log: [] }, 3, 10)).toEqual({ events: [], next: state.nextSeq, more: false });
  });

  test('always advance: a limit of 0 still gives one item', () => {
    expect(page(['a', 'b'], 0, 0, (item) => item)).toEqual({ items: ['a'], next: 1 });
  });

  test('of messages end with the transcript', () => {
    const { state } = new Story().play([{ input: 'hi', turns: [{ text: 'ho', calls: [], said: [] }], end: 'completed' }]);
    expect(messagePage(state.messages, 1)).toEqual({ messages: [state.messages[1]], next: 2, more: false });
    expect(messagePage(state.messages, 9)).toEqual({ messages: [], next: 9, more: false });
  });
});

function resting(edited?: string, asked: { groups?: string[]; approvers?: number } = {}): Story {
  const story = new Story();
  story.say('please');
  story.begin();
  const finish = story.finish;
  story.finish = () => undefined;
  const rest = story.rest;
  if (edited === undefined) story.rest = () => undefined;
  const record = story.record;
  if (edited === undefined) {
    // Stops where the decision would come.
    story.record = function (this: Story, type, ...rest) {
      if (
        type === 'agent.approval.decided' ||
        (type === 'agent.run.status.changed' && this.state.run?.calls.some((c) => c.phase === 'awaiting-approval'))
      )
        return;
      record.call(this, type, ...(rest as [never]));
    } as Story['record'];
  }
  const verdict = { kind: 'external' as const, approval: { reason: 'it costs *money*', ...asked } };
  story.turn({
    text: 'I will\nask',
    said: [],
    calls: [{ arguments: '{"cents":5}', verdict, status: 'success', output: '', ...(edited !== undefined && { edited }) }],
  });
  Object.assign(story, { finish, rest, record });
  return story;
}

describe('what waits', () => {
  test('is listed with what a person needs for a decision, and the reason for the question', () => {
    const { state } = resting();
    const id = state.run?.calls[0]?.id;
    expect(pendingCalls(state)).toEqual([
      {
        kind: 'approval',
        toolCallId: id,
        name: 'tool',
        arguments: '{"cents":5}',
        reason: 'it costs *money*',
        since: expect.stringContaining('2023-11-14T'),
      },
    ]);
  });

  test('is listed with the arguments as a person edited them, in the list and in the event', () => {
    const { state } = resting('{"cents":3}');
    const wanted: PendingCall = {
      kind: 'output',
      toolCallId: state.run?.calls[0]?.id ?? '',
      name: 'tool',
      arguments: '{"cents":3}',
      since: expect.any(String) as never,
    };
    expect(pendingCalls(state)).toEqual([wanted]);
    const [asked, rested] = state.log.filter((r) => r.type === 'thread.run.requires_action').map((r) => join(r, state).data);
    expect(asked).toMatchObject({ pending: [{ kind: 'approval', arguments: '{"cents":5}' }] });
    expect(rested).toEqual({ pending: [wanted] });
  });

  test('is empty once the run has ended', () => {
    const story = resting();
    story.end('cancelled');
    expect(pendingCalls(story.state)).toEqual([]);
  });
});

describe('the page in the Web UI', () => {
  test('first says what a person can act on, and how', () => {
    const { state } = resting();
    const lines = details(state).split('\n');
    expect(lines[0]).toContain('agent coder · openai/x');
    expect(lines.slice(0, 8).join('\n')).toContain('waits for an **approval**: it costs \\*money\\*');
    expect(lines.slice(0, 10).join('\n')).toContain('```\ncents: 5\n```');
    expect(details(state)).toContain(`Send the signal \`approve\` with \`{"toolCallId":"${state.run?.calls[0]?.id}","by":"you"}\``);
  });

  test('says how many of the arguments are not shown, and where all of them are', () => {
    const story = resting();
    const { state } = story;
    const asked = state.messages.findLast((m) => m.role === 'assistant');
    const call = asked?.role === 'assistant' && asked.content.find(({ type }) => type === 'tool-call');
    Object.assign(call as object, { arguments: JSON.stringify({ path: 'a.txt', content: '漢'.repeat(9_000) }) });
    const page = details(state);
    expect(page).toContain('path: a.txt');
    expect(page).toMatch(/… 70\d\d more characters of content are not shown/);
    expect(page).toMatch(/70\d\d characters of it are not shown here; `longhaul show thread_1 --json` has them/);
    expect(page).toContain('Send the signal `approve`');
  });

  test('shows a decision that the thread accepts: with the people who are asked', () => {
    const groups = ['leads', 'owners'];
    const { state } = resting(undefined, { groups, approvers: 2 });
    expect(details(state)).toContain('for group leads, group owners · 0 of 2 agreed');
    expect(details(state)).toContain('","by":"you","groups":["leads"]}`');
  });

  test('stays small and complete, whatever the texts are', () => {
    fc.assert(
      fc.property(plot, (runs) => {
        new Story((state) => {
          const text = details(state);
          expect(text.length).toBeLessThan(20_000);
        }).play(runs);
      }),
      { numRuns: 20 },
    );
  });

  test('shows the state of a new thread before its agent is known', () => {
    const state = newThread({
      threadId: 't',
      agent: 'coder',
      mode: 'one-shot',
      overrides: {},
      queue: [{ id: 'm', role: 'user', content: 'hi | ho' }],
    });
    expect(details(state)).toContain('**Starting** · agent coder · model not known yet');
    expect(details(state)).toContain('Task:\n\n```\nhi | ho\n```');
  });
});

test('a conversation between runs is idle, or queued if messages wait; a one-shot thread keeps the end of its run', () => {
  const { state } = new Story().play([{ input: 'hi', turns: [{ text: 'ho', calls: [], said: [] }], end: 'completed' }]);
  expect(threadStatus(state)).toBe('idle');
  expect(threadStatus({ ...state, queue: [{ id: 'm', role: 'user', content: 'more' }] })).toBe('queued');
  expect(threadStatus({ ...state, mode: 'one-shot' })).toBe('completed');
});

test('summaries of steps are one short line', () => {
  expect(modelSummary(7, 'gpt-5', 12_345)).toBe('turn 7 · gpt-5 · 12k context');
  expect(modelSummary(1, 'gpt-5', 0)).toBe('turn 1 · gpt-5');
  expect(modelSummary(1, 'gpt-5', 999)).toBe('turn 1 · gpt-5 · 999 context');
  expect(toolSummary('shell', '{\n  "command": "ls"\n}')).toBe('`shell { "command": "ls" }`');
  expect(toolSummary('shell', 'x'.repeat(500)).length).toBeLessThanOrEqual(180);
  expect(waitSummary({ kind: 'approval', name: 'deploy' })).toBe('deploy waits for an approval');
});

test('texts that the history shows without Markdown have no backslashes', () => {
  expect(modelSummary(1, 'gpt_5', 0)).toBe('`turn 1 · gpt_5`');
  expect(toolSummary('read_file', '{"path":"a_b.md"}')).toBe('`read_file {"path":"a_b.md"}`');
  expect(closingSummary('gpt_5')).toBe('`closing words · gpt_5`');
  expect(waitSummary({ kind: 'output', name: 'look_up' })).toBe('`look_up waits for its output`');
});

test('the task can be copied unchanged from the page of a thread', () => {
  const task = 'Fix `read_file`:\n\n- it *fails* on "quotes" | <tags>\n```js\n1. x\n```';
  const queue = [{ id: 'm', role: 'user' as const, content: task }];
  const page = details(newThread({ threadId: 't', agent: 'coder', mode: 'one-shot', overrides: {}, queue }));
  expect(page).toContain(`\n\`\`\`\`\n${task}\n\`\`\`\`\n`);
  expect(taskDetails(task)).toBe(`\`\`\`\`\n${task}\n\`\`\`\``);
});
