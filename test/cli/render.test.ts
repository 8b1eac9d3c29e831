import { answerHint } from '../../src/cli/commands/answer-hint';
import { createView, type ViewOptions } from '../../src/cli/views/render';
import { paintWith } from '../../src/cli/views/styled';
import { age, bytes, duration, preview, shortArguments, tokens } from '../../src/cli/views/words';
import { startedByNpx } from '../../src/config';
import type { AgentEvent, EventData } from '../../src/core/event';
import type { AssistantMessage } from '../../src/core/message';
import { answerParts } from '../support/answer-parts';

const same = (text: string) => text;
const paint = paintWith({ bold: same, dim: same, red: same, green: same, yellow: same, cyan: same });
const usage = { inputTokens: 1_200, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 34, reasoningTokens: 0 };

function event<T extends keyof EventData>(type: T, data: EventData[T], timestamp = '2026-01-01T00:00:00.000Z'): AgentEvent {
  return { type, data, timestamp, threadId: 't', runId: 'r' } as AgentEvent;
}

function shown(events: AgentEvent[], options: Partial<ViewOptions> = {}): string {
  const view = createView({ paint, ...options });
  return events.map((one) => view(one).text).join('');
}

function answer(
  content: string,
  { attempt = 1, refusal = '' }: { attempt?: number; refusal?: string } = {},
  extra: Partial<EventData['thread.message.completed']> = {},
): AgentEvent {
  const message: AssistantMessage = { id: 'm', role: 'assistant', content: answerParts(content, [], { refusal }), attempt };
  return event('thread.message.completed', {
    stepId: 's',
    message,
    finishReason: 'stop',
    usage,
    model: 'gpt',
    durationMs: 1_500,
    ...extra,
  });
}

function delta(contentChunk: string, more: Partial<EventData['thread.message.delta']> = {}): AgentEvent {
  return event('thread.message.delta', { messageId: 'm', turn: 1, attempt: 1, index: 0, contentChunk, ...more });
}

const footer = 'gpt · 1.2k tokens in, 34 out · 1.5 s\n';

test('attempts that gave no answer are shown with their cost, before an answer and without one', () => {
  const wasted = { usage, estimated: true } as const;
  const words = '↻ attempts without an answer: about 1.2k tokens in, 34 out\n';
  expect(shown([answer('Hello.', {}, { wasted })])).toBe(`Hello.\n${footer}${words}`);
  const spent = { usage, model: 'gpt', durationMs: 0, wasted };
  expect(shown([event('thread.message.incomplete', { stepId: 's', messageId: 'm', reason: 'failed', spent })])).toBe(
    // Nothing is tried again, so there is no sign of it.
    `! the answer is incomplete: the call failed\n${words.replace('↻', '!')}`,
  );
});

test('a message to a conversation between runs is not announced: it begins the next run, which shows it', () => {
  const created = event('agent.run.created', { status: 'in_progress', initialMessages: [] });
  const completed = event('thread.run.completed', { finalMessages: [], output: '', usage, turns: 1 });
  const queued = event('thread.message.queued', { message: { id: 'q', role: 'user', content: 'And?' } });
  const words = 'a message came in; it is read at the next turn';
  expect(shown([created, queued])).toContain(words);
  expect(shown([created, completed, queued])).not.toContain(words);
  expect(shown([created, completed, created, queued])).toContain(words);
});

describe('the calls of a run', () => {
  const started = (toolCallId: string) => event('agent.tool.execution.started', { stepId: 's', toolCallId, name: 'add' });
  const completed = event('thread.run.completed', { finalMessages: [], output: '', usage, turns: 2 });

  test('count once each, also if one is repeated', () => {
    const created = event('agent.run.created', { status: 'in_progress', initialMessages: [] });
    expect(shown([created, started('c1'), started('c1'), started('c2'), completed])).toContain('2 turns · 2 tool calls · 1.2k');
  });

  test('are not counted if not all of the run is shown', () => {
    expect(shown([started('c2'), completed])).toContain('2 turns · 1.2k');
  });
});

describe('the text of a model', () => {
  test('is printed when it is complete, if nothing of it was streamed', () => {
    expect(shown([answer('Hello there.')])).toBe(`Hello there.\n${footer}`);
  });

  test('is printed as its pieces arrive, and not again when it is complete', () => {
    expect(shown([delta('Hello '), delta('there.'), answer('Hello there.')])).toBe(`Hello there.\n${footer}`);
  });

  test('of snapshots only the new part is printed', () => {
    const snapshot = { snapshot: true } as const;
    expect(shown([delta('Hel', snapshot), delta('Hello th', snapshot), answer('Hello there.')])).toBe(`Hello there.\n${footer}`);
  });

  test('continues at the right place if a snapshot has only the end of a long text', () => {
    const text = Array.from({ length: 5_000 }, (_, i) => `word${i} `).join('');
    const printed = shown([
      delta(text.slice(0, 20_000), { snapshot: true }),
      delta(text.slice(8_000, 30_000), { snapshot: true }),
      answer(text),
    ]);
    expect(printed).toBe(`${text}\n${footer}`);
  });

  test('reports that it begins again if an attempt was lost in the middle', () => {
    const again = '\n↻ answer interrupted; the model begins again (attempt 2)\n';
    expect(
      shown([
        delta('Hello th'),
        delta('Good', { attempt: 2, restart: true }),
        delta(' day.', { attempt: 2 }),
        answer('Good day.', { attempt: 2 }),
      ]),
    ).toBe(`Hello th${again}Good day.\n${footer}`);
    expect(
      shown([delta('Hello th', { snapshot: true }), delta('Good', { attempt: 2, snapshot: true }), answer('Good day.', { attempt: 2 })]),
    ).toBe(`Hello th${again}Good day.\n${footer}`);
    // The second attempt was over before anything was seen of it.
    expect(shown([delta('Hello th', { snapshot: true }), answer('Good day.', { attempt: 2 })])).toBe(
      `Hello th${again}Good day.\n${footer}`,
    );
  });

  test('late text of an attempt that was given up is not shown', () => {
    expect(
      shown([delta('Good', { attempt: 2, restart: true }), delta('lo there', { attempt: 1 }), answer('Good day.', { attempt: 2 })]),
    ).toBe(`Good day.\n${footer}`);
  });

  test('a refusal is shown like a text', () => {
    expect(shown([answer('', { refusal: 'I will not.' })])).toBe(`I will not.\n${footer}`);
  });
});

describe('retries', () => {
  const failed = { kind: 'rate-limit', message: 'limits the rate', waitMs: 2_000 } as const;
  const retry = event('agent.llm.retry', {
    turn: 1,
    nextAttempt: 2,
    maxAttempts: 5,
    delayMs: 2_000,
    delaySource: 'retry-after',
    failureKind: 'rate-limit',
    message: 'limits the rate',
  });

  test('are shown live, with the wait and its source', () => {
    expect(shown([retry])).toBe('↻ rate-limit: limits the rate. Attempt 2 of 5 in 2.0 s, as the provider requested\n');
  });

  test('are shown with the answer if they were not shown live, and only once', () => {
    expect(shown([answer('Hi', {}, { attempts: [failed] })])).toBe(`↻ rate-limit: limits the rate (then waited 2.0 s)\nHi\n${footer}`);
    expect(
      shown([event('agent.run.step.created', { stepId: 's', turn: 1 }), retry, answer('Hi', {}, { attempts: [failed] })]).match(/↻/g),
    ).toHaveLength(1);
  });
});

describe('tool calls', () => {
  const call = { id: 'c', name: 'shell', arguments: '{"command":"npm test"}' };
  const made = event('thread.run.step.tool_call.completed_by_llm', { stepId: 's', toolCall: call });
  const begun = event('agent.tool.execution.started', { stepId: 's', toolCallId: 'c', name: 'shell' });
  const ended = (data: Partial<EventData['agent.tool.execution.completed']>) =>
    event('agent.tool.execution.completed', {
      stepId: 's',
      toolCallId: 'c',
      name: 'shell',
      status: 'success',
      isError: false,
      messageId: 'm2',
      output: 'ok',
      durationMs: 1_234,
      ...data,
    });

  test('show what runs, how long it took and the outcome', () => {
    expect(shown([made, begun, ended({})])).toBe('▸ shell npm test\n✓ shell 1.2 s\n    ok\n');
  });

  test('a long output is shown by its beginning and its end', () => {
    const output = Array.from({ length: 50 }, (_, i) => `line ${i + 1}`).join('\n');
    expect(shown([ended({ output })])).toBe(
      '✓ shell 1.2 s\n    line 1\n    line 2\n    line 3\n    line 4\n    … 43 more lines\n    line 48\n    line 49\n    line 50\n',
    );
  });

  test('show the error, and the number of attempts', () => {
    expect(shown([ended({ status: 'unknown', isError: true, output: 'Error: lost', durationMs: undefined })])).toBe(
      '✗ shell unknown\n    Error: lost\n',
    );
    expect(shown([ended({ attempts: 3 })])).toContain('✓ shell 1.2 s · 3 attempts\n');
  });

  test('a call that never ran is shown with its arguments', () => {
    expect(shown([made, ended({ status: 'rejected', isError: true, output: 'Error: no such tool' })])).toBe(
      '✗ shell npm test  rejected\n    Error: no such tool\n',
    );
  });

  test('progress is shown at most once a second, and never twice the same', () => {
    const progress = (message: string, second: number, ms = 0) =>
      event(
        'agent.tool.progress',
        { toolCallId: 'c', name: 'shell', attempt: 1, message },
        new Date(Date.UTC(2026, 0, 1, 0, 0, second, ms)).toISOString(),
      );
    expect(shown([progress('a', 1), progress('b', 1, 500), progress('a', 2), progress('c', 3)])).toBe('    a\n    c\n');
  });

  test('an approval shows the question, how to answer, and the decision', () => {
    const asked = [
      event('agent.approval.requested', { stepId: 's', toolCall: call, reason: 'It deploys.' }),
      event('thread.run.requires_action', { pending: [{ kind: 'approval', toolCallId: 'c', name: 'shell', arguments: call.arguments }] }),
    ];
    expect(shown(asked, { hint: ({ toolCallId }) => `answer ${toolCallId}` })).toBe(
      '? shell  needs an approval  It deploys.\n    command: npm test\n    answer c\n',
    );
    expect(shown([event('agent.approval.decided', { toolCallId: 'c', approved: false, by: 'dana', reason: 'no' })])).toMatch(
      /^ {2}rejected by dana: no/,
    );
    expect(shown([event('agent.approval.decided', { toolCallId: 'c', approved: true, editedArguments: '{"command":"ls"}' })])).toBe(
      '  approved with other arguments: ls\n',
    );
    const decided = event('agent.approval.decided', { toolCallId: call.id, approved: true, editedArguments: '{"command":"ls"}' });
    const runs = event('agent.tool.execution.started', { stepId: 's', toolCallId: call.id, name: 'shell' });
    expect(shown([made, decided, runs])).toBe('  approved with other arguments: ls\n▸ shell ls\n');
  });
});

describe('a question', () => {
  const call = { id: 'c', name: 'shell', arguments: '{"command":"npm test"}' };
  const pending = { kind: 'approval', toolCallId: 'c', name: 'shell', arguments: call.arguments } as const;
  const requested = event('agent.approval.requested', { stepId: 's', toolCall: call });
  const waits = event('thread.run.requires_action', { pending: [pending] });
  const decided = event('agent.approval.decided', { toolCallId: 'c', approved: true, by: 'dana' });
  const asked = '? shell  needs an approval\n    command: npm test\n';
  const question = { kind: 'question', toolCallId: 'q', name: 'ask_human', arguments: '{"question":"Which?"}' } as const;
  const answered = event('agent.tool.execution.completed', {
    stepId: 's',
    toolCallId: 'q',
    name: 'ask_human',
    status: 'success',
    isError: false,
    messageId: 'm',
    output: 'a',
  });

  test('is shown with its command if the reader begins after it', () => {
    expect(shown([waits], { hint: () => 'approve it' })).toBe(`${asked}    approve it\n`);
    const limit = {
      kind: 'limit',
      toolCallId: 'l',
      name: 'turns',
      arguments: '',
      reason: 'The run reached its limit of 3 turns.',
    } as const;
    const outcome = { ...pending, kind: 'outcome', name: 'pay', reason: 'the worker was lost' } as const;
    expect(shown([event('thread.run.requires_action', { pending: [limit, outcome] })])).toBe(
      '? The run reached its limit of 3 turns. A person is asked to raise it\n? pay has an unknown outcome: the worker was lost\n',
    );
  });

  test('that the program asks itself is not printed a second time', () => {
    const prompted = { asks: () => true, wasAsked: () => true };
    expect(shown([requested, waits, decided], prompted)).toBe('  approved by dana (shell)\n');
    expect(shown([event('thread.run.requires_action', { pending: [question] }), answered], prompted)).toBe('✓ ask_human\n    a\n');
  });

  test('that was answered before the program could ask it is printed before the answer', () => {
    const late = { asks: () => true, wasAsked: () => false };
    expect(shown([requested, waits], late)).toBe('');
    expect(shown([requested, waits, decided], late)).toBe(`${asked}  approved by dana (shell)\n`);
    expect(shown([event('thread.run.requires_action', { pending: [question] }), answered], late)).toBe('? Which?\n✓ ask_human\n    a\n');
  });

  test('that needs a signature, which the prompt can’t give, is printed with its command', () => {
    const signed = event('thread.run.requires_action', { pending: [{ ...pending, signed: true }] });
    const options = { asks: ({ signed: needed }: { signed?: true }) => !needed, wasAsked: () => false, hint: () => 'sign it' };
    expect(shown([requested, signed], options)).toBe(`${asked}    sign it\n`);
  });
});

describe('people and pauses', () => {
  const call = { id: 'c', name: 'deploy', arguments: '{"to":"production"}' };
  const dueAt = '2026-01-31T12:00:00.000Z';
  const made = event('thread.run.step.tool_call.completed_by_llm', { stepId: 's', toolCall: call });

  test.each<[string, AgentEvent, string]>([
    [
      'who is asked about a call, and until when',
      event('agent.approval.requested', { stepId: 's', toolCall: call, users: ['lee'], groups: ['leads'], approvers: 2, dueAt }),
      '? deploy  needs an approval  (lee, group leads · 2 must agree · until 2026-01-31 12:00 UTC)\n    to: production\n',
    ],
    [
      'who agreed, and how many more must',
      event('agent.approval.voted', { toolCallId: 'c', by: 'dana', reason: 'fine', outstanding: 1 }),
      '  agreed by dana: fine; 1 more must agree (deploy)\n',
    ],
    [
      'whom it is escalated to',
      event('agent.approval.escalated', { toolCallId: 'c', groups: ['owners'], dueAt }),
      '  nobody answered in time; group owners is asked, until 2026-01-31 12:00 UTC (deploy)\n',
    ],
    [
      'that it is asked again',
      event('agent.approval.escalated', { toolCallId: 'c' }),
      '  nobody answered in time; it is asked again (deploy)\n',
    ],
    [
      'a decision of a deadline',
      event('agent.approval.decided', { toolCallId: 'c', approved: false, source: 'deadline', reason: 'nobody decided in time' }),
      '  rejected by its deadline: nobody decided in time (deploy)\n',
    ],
    [
      'what is remembered',
      event('agent.approval.decided', {
        toolCallId: 'c',
        approved: true,
        by: 'dana',
        remembered: [
          { tool: 'shell', prefix: ['git', 'push'] },
          { tool: 'shell', prefix: ['node', 'b c'], exact: true },
        ],
      }),
      '  approved by dana (deploy); shell: git push, shell: node "b c" (exactly) need no approval from now on\n',
    ],
    [
      'a refusal that ends the run',
      event('agent.approval.decided', { toolCallId: 'c', approved: false, by: 'dana', stop: true }),
      '  rejected by dana (deploy); the run ends\n',
    ],
    [
      'what was answered to the question of a call',
      event('agent.tool.question.answered', {
        toolCallId: 'c',
        questionId: 'q',
        action: 'accept',
        content: { seats: 2, place: 'w\u001b' },
        by: 'mia',
      }),
      '  answered by mia: seats: 2, place: w<U+001B> (deploy)\n',
    ],
    [
      'an unknown outcome, without advice to the model',
      event('agent.tool.outcome.unknown', {
        toolCallId: 'c',
        name: 'deploy',
        message: 'Error: the worker was lost while deploy ran. It may have been carried out or not; check before you call it again.',
      }),
      '  unknown: the worker was lost while deploy ran. It may have been carried out or not (deploy)\n',
    ],
    ['a question without an answer', event('agent.input.expired', { toolCallId: 'c' }), '  nobody answered in time (deploy)\n'],
    [
      'a limit that is asked about',
      event('agent.limit.reached', { id: 'l', limit: 'turns', max: 3, scope: 'run' }),
      '? The run reached its limit of 3 turns. A person is asked to raise it\n',
    ],
    [
      'calls that are handed out',
      event('agent.limit.handed_out', { limit: 'toolCalls', max: 3, scope: 'thread', toolCallIds: ['a', 'b'] }),
      '! The thread reached its limit of 3 tool calls. 2 calls wait for output from outside\n',
    ],
    [
      'more of a limit',
      event('agent.limit.extended', { id: 'l', limit: 'turns', max: 6, scope: 'run', by: 'dana' }),
      '  granted by dana: the limit of turns is now 6\n',
    ],
    ['a pause', event('agent.run.paused', { reason: 'lunch', by: 'dana' }), '‖ paused by dana: lunch\n'],
    ['its end', event('agent.run.resumed', { by: 'dana' }), '▸ resumed by dana\n'],
    [
      'a sleep, with the closing words',
      event('agent.run.suspended', { correlationId: 'mail-1', expiresAt: dueAt, output: 'I asked by mail.' }),
      'I asked by mail.\n… suspended: it continues with a reply to "mail-1", until 2026-01-31 12:00 UTC\n    answer mail-1\n',
    ],
    [
      'a question, with its options',
      event('thread.run.requires_action', {
        pending: [{ kind: 'question', toolCallId: 'q', name: 'ask_human', arguments: '{"question":"Which?","options":["a","b"]}' }],
      }),
      '? Which?\n    - a\n    - b\n    answer q\n',
    ],
    [
      'a hook that failed, and is left out',
      event('agent.hook.completed', {
        hook: 'after:tool',
        durationMs: 3,
        errors: [{ id: 'audit', message: 'no disk', consecutive: 3, disabled: true }],
      }),
      '! hook after:tool (audit) failed: no disk; it is disabled from now on\n',
    ],
    ['no hook that did well', event('agent.hook.completed', { hook: 'after:tool', durationMs: 3 }), ''],
    [
      'a call that goes on in the background',
      event('agent.tool.execution.completed', {
        stepId: 's',
        toolCallId: 'c',
        name: 'deploy',
        status: 'success',
        isError: false,
        messageId: 'm',
        output: 'It goes on.',
        background: true,
      }),
      '… deploy production  continues in the background\n',
    ],
    [
      'what came of it',
      event('agent.tool.background.completed', {
        toolCallId: 'c',
        name: 'deploy',
        status: 'failed',
        isError: true,
        message: { id: 'm', role: 'user', content: 'no disk', origin: 'tool' },
        durationMs: 2_000,
      }),
      '✗ deploy (in the background) failed 2.0 s\n    no disk\n',
    ],
    [
      'a message that is not taken in',
      event('thread.message.superseded', {
        messageId: 'm',
        message: { id: 'm', role: 'user', content: 'x' },
        reason: 'the run ended before it took the message in',
      }),
      '! a message was not taken in: the run ended before it took the message in\n',
    ],
    [
      'an answer that was given up',
      event('thread.message.incomplete', { stepId: 's', messageId: 'm', reason: 'superseded' }),
      '↻ the answer is aborted for a message that must be read now\n',
    ],
    [
      'an answer that is not whole',
      event('thread.message.incomplete', { stepId: 's', messageId: 'm', reason: 'failed' }),
      '! the answer is incomplete: the call failed\n',
    ],
    [
      'when a message is read',
      event('thread.message.queued', { message: { id: 'm', role: 'user', content: 'x' }, delivery: 'after-run' }),
      'a message came in; it is read after this run\n',
    ],
    [
      'what a hook said to the model',
      event('thread.message.created', { message: { id: 'm', role: 'user', content: 'Check it.', origin: 'hook' } }),
      'hook Check it.\n',
    ],
    [
      'closing words',
      event('agent.run.summarized', { stepId: 's', output: 'So far so good.', usage, model: 'gpt', durationMs: 1_500 }),
      `So far so good.\n${footer}`,
    ],
    [
      'a sleep that nobody ended',
      event('thread.run.expired', { reason: 'suspended', message: 'No reply came.' }),
      '\n✖ expired No reply came.\n',
    ],
  ])('are shown in a line: %s', (_, one, words) => {
    expect(shown([made, one], { hint: ({ toolCallId }) => `answer ${toolCallId}` })).toBe(words);
  });
});

test('closing words before a sleep are shown once', () => {
  const words = { output: 'I asked by mail.' };
  const closing = event('agent.run.summarized', { stepId: 's', ...words, usage, model: 'gpt', durationMs: 1_500 });
  const asleep = event('agent.run.suspended', { correlationId: 'mail-1', expiresAt: '2026-01-31T12:00:00.000Z', ...words });
  expect(shown([closing, asleep]).match(/I asked by mail/g)).toHaveLength(1);
});

test('a refusal to extend a limit names the limit', () => {
  const refused = [
    event('agent.limit.reached', { id: 'limit_1', limit: 'turns', max: 3, scope: 'run' }),
    event('agent.approval.decided', { toolCallId: 'limit_1', approved: false, by: 'dana' }),
  ];
  expect(shown(refused)).toMatch(/\n {2}rejected by dana \(more turns\)\n$/);
});

test('a hint is a command that a shell accepts unchanged', () => {
  const hint = answerHint("it's mine");
  const pending = { kind: 'approval', toolCallId: "it's", name: 'x', arguments: '' } as const;
  expect(hint(pending).text).toBe(
    `longhaul approve $'it\\'s\\x20mine' 'it'\\''s'   (or: longhaul reject $'it\\'s\\x20mine' 'it'\\''s' --reason "…")`,
  );
  expect(hint({ ...pending, kind: 'limit' }).text).toContain('--more N');
  expect(hint({ ...pending, kind: 'output', users: ['lee'] }).text).toContain("submit $'it\\'s\\x20mine' 'it'\\''s' '<output>' --by YOU");
});

test('commands to copy begin with npx only if npx started this program', () => {
  const npx = { npm_command: 'exec' };
  expect(startedByNpx(npx, '/app/node_modules/.bin/longhaul')).toBe(true);
  expect(startedByNpx(npx, 'C:\\work\\node_modules\\longhaul\\bin\\longhaul.js')).toBe(true);
  expect(startedByNpx(npx, '/app/node_modules/.bin/jest')).toBe(false);
  expect(startedByNpx({}, '/usr/bin/longhaul')).toBe(false);
  expect(startedByNpx({ npm_command: 'run-script' }, '/app/node_modules/.bin/longhaul')).toBe(false);
});

test.each<[string, AgentEvent, RegExp]>([
  ['failed', event('thread.run.failed', { code: 'auth', message: 'There is no key.' }), /✖ failed \(auth\) There is no key\./],
  [
    'incomplete',
    event('thread.run.incomplete', { output: '', limit: 'turns', max: 3, message: 'Limit of 3 turns.' }),
    /✖ incomplete Limit of 3 turns\./,
  ],
  ['cancelled', event('thread.run.cancelled', { by: 'dana', reason: 'enough' }), /✖ cancelled by dana: enough/],
  [
    'ended from outside',
    event('thread.run.expired', { reason: 'terminated', message: 'It was terminated.' }),
    /✖ ended from outside It was terminated\./,
  ],
])('a run that %s shows the reason', (_, end, words) => {
  expect(shown([end])).toMatch(words);
});

test('a completed run has a summary', () => {
  const created = event('agent.run.created', { status: 'in_progress', initialMessages: [] });
  const done = event('thread.run.completed', { finalMessages: [], output: '', usage, turns: 2 }, '2026-01-01T00:01:05.000Z');
  expect(shown([created, done])).toBe('\n✔ completed · 2 turns · 0 tool calls · 1.2k tokens in, 34 out · 1 min 5 s\n');
});

test('arguments fit on a line: a single one as it is, several by name, and a long one leaves room for the others', () => {
  expect(shortArguments('{"command":"ls\\n -l"}', 80)).toBe('ls -l');
  expect(shortArguments(`{"path":"a.txt","content":"${'x'.repeat(500)}"}`, 60)).toMatch(/^path: a\.txt, content: x+…$/);
  expect(shortArguments('{"a":', 80)).toBe('{"a":');
  // As an approval shows them: a text that reads as another value is quoted.
  expect(shortArguments('{"id":"812"}', 80)).toBe('"812"');
  expect(shortArguments('{"id":"812","cents":812,"note":"true"}', 80)).toBe('id: "812", cents: 812, note: "true"');
  expect(shortArguments('x'.repeat(500), 80)).toHaveLength(80);
});

test('numbers are short', () => {
  expect([duration(12), duration(1_240), duration(125_000)]).toEqual(['12 ms', '1.2 s', '2 min 5 s']);
  expect([age(-5), age(12_000), age(600_000), age(3 * 3_600_000), age(3 * 86_400_000)]).toEqual(['0 s', '12 s', '10 min', '3 h', '3 d']);
  expect([tokens(812), tokens(12_345), tokens(1_234_567)]).toEqual(['812', '12.3k', '1.2M']);
  expect([bytes(12), bytes(34_500), bytes(1_200_000)]).toEqual(['12 B', '34.5 kB', '1.20 MB']);
  expect(preview('a\nb\nc', 1, 1, 80)).toEqual(['a', 'b', 'c']);
});
