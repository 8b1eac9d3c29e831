import type { Evidence, LogEvent, LogMessage, ThreadEvidence } from '../../storm/check/evidence';
import { judge, rules } from '../../storm/check/judge';
import { stuckWorkers } from '../../storm/check/processes';
import type { JournalLine } from '../../storm/journal';
import type { LedgerLine } from '../../storm/ledger';
import type { ThreadPlan } from '../../storm/plan';
import { hashOf } from '../../storm/reader-line';

// One thread that broke nothing: a message, a call that two had to agree to, a keyed call, an answer. Each test breaks one thing of it.

const task = 'Please go 0 of t.';
const plan: ThreadPlan = { id: 't', at: 0, agent: 'plain', kind: 'all', mode: 'conversation', runs: 1, turns: 1, deeds: [], readers: 0 };
const time = (ms: number) => new Date(1_000_000 + ms).toISOString();

function wholeLog(): LogEvent[] {
  const call = (id: string, name: string, n: string) => ({ id, name, arguments: JSON.stringify({ n, ms: 1 }) });
  const events: [string, Record<string, unknown>, number][] = [
    ['agent.run.created', {}, 0],
    ['thread.message.queued', { message: { id: 'go-1', role: 'user', content: task } }, 0],
    ['thread.message.created', { message: { id: 'go-1', role: 'user', content: task } }, 0],
    ['thread.run.step.tool_call.completed_by_llm', { stepId: 's', toolCall: call('c1', 'pay_two', 'm1.0') }, 10],
    ['thread.run.step.tool_call.completed_by_llm', { stepId: 's', toolCall: call('c2', 'write', 'm1.1') }, 10],
    ['agent.approval.requested', { toolCall: { id: 'c1' }, approvers: 2 }, 10],
    ['agent.approval.voted', { toolCallId: 'c1', by: 'ann', reason: 'r1' }, 20],
    ['agent.approval.decided', { toolCallId: 'c1', approved: true, by: 'bob', reason: 'r2' }, 30],
    ['agent.tool.execution.started', { toolCallId: 'c1' }, 30],
    ['agent.tool.execution.completed', { toolCallId: 'c1', status: 'success' }, 50],
    ['agent.tool.execution.started', { toolCallId: 'c2' }, 50],
    ['agent.tool.execution.completed', { toolCallId: 'c2', status: 'success' }, 70],
    ['thread.run.completed', {}, 90],
  ];
  return events.map(([type, data, at], i) => ({ seq: i + 1, type, data, timestamp: time(at), threadId: 't', runId: 'run' }));
}

const wholeMessages = (): LogMessage[] => [
  { id: 'go-1', role: 'user', content: task },
  {
    id: 'a1',
    role: 'assistant',
    content: [
      { type: 'text', text: 'I will. #m1' },
      { type: 'tool-call', id: 'c1', name: 'pay_two', arguments: '' },
      { type: 'tool-call', id: 'c2', name: 'write', arguments: '' },
    ],
  },
  { id: 'x1', role: 'tool', content: 'ok', toolCallId: 'c1' },
  { id: 'x2', role: 'tool', content: 'ok', toolCallId: 'c2' },
  { id: 'a2', role: 'assistant', content: [{ type: 'text', text: 'Done. #m2' }] },
];

const line = (what: LedgerLine['what'], call: string, n: string, at: number, more: Partial<LedgerLine> = {}): LedgerLine => ({
  what,
  at: 1_000_000 + at,
  thread: 't',
  run: 'run',
  call,
  tool: call === 'c1' ? 'pay_two' : 'write',
  effect: call === 'c1' ? 'once' : 'keyed',
  key: `t/run/${call}`,
  n,
  attempt: 1,
  pid: 1,
  ...more,
});

const asked = (id: string, more: Partial<JournalLine>): JournalLine[] =>
  (['intended', 'accepted'] as const).map((outcome) => ({
    id,
    at: 0,
    outcome,
    thread: 't',
    kind: 'decision',
    via: 'update',
    name: 'approve',
    mark: id,
    ...more,
  }));

function whole(): Evidence & { threads: [ThreadEvidence] } {
  return {
    threads: [
      {
        id: 't',
        plan,
        status: 'RUNNING',
        taskAttempt: 0,
        executions: [{ runId: 'e', status: 'RUNNING', events: 40, bytes: 9_000, failures: [] }],
        log: wholeLog(),
        messages: wholeMessages(),
        view: { status: 'idle', queued: 0 },
      },
    ],
    ledger: [
      line('begin', 'c1', 'm1.0', 35),
      line('end', 'c1', 'm1.0', 45),
      line('begin', 'c2', 'm1.1', 55),
      line('end', 'c2', 'm1.1', 65),
    ],
    effects: [{ key: 't/run/c2', thread: 't', call: 'c2', tool: 'write', n: 'm1.1', at: 1_000_060 }],
    journal: [
      ...asked('r1', { toolCallId: 'c1', approved: true, by: 'ann' }),
      ...asked('r2', { toolCallId: 'c1', approved: true, by: 'bob' }),
      ...asked('go', { kind: 'message', name: 'sendMessage', mark: 'go-1', messageId: 'go-1' }),
    ],
    readers: wholeLog().map((event) => ({
      thread: 't',
      reader: '0@1',
      from: 1,
      seq: event.seq,
      type: event.type,
      timestamp: event.timestamp,
      hash: hashOf(event),
    })),
    model: [
      { n: 'm1', at: 5, thread: 't', run: 0, turn: 0, saw: [['u', task]], tokens: 900 },
      {
        n: 'm2',
        at: 80,
        thread: 't',
        run: 0,
        turn: 1,
        saw: [
          ['u', task],
          ['a', 'c1', 'c2', 'm1'],
          ['t', 'c1'],
          ['t', 'c2'],
        ],
        tokens: 1_000,
      },
    ],
    carryAfter: 60,
  };
}

test('a thread without violations breaks no rule', () => {
  expect(judge(whole())).toEqual([]);
  expect(rules.length).toBeGreaterThanOrEqual(14);
});

type Whole = ReturnType<typeof whole>;

/** After a compaction the log keeps ids and names. */
function compacted(): Whole {
  const evidence = whole();
  const log = evidence.threads[0].log ?? [];
  for (const { data } of log) {
    const call = data.toolCall as { arguments?: string } | undefined;
    if (call?.arguments) call.arguments = '[no longer kept]';
  }
  const last = event(log, 'thread.run.completed');
  log.push({ ...last, seq: last.seq + 1, runId: null, type: 'thread.context.compacted' });
  return evidence;
}

test('a shell command, which has no mark, need not be in the ledger', () => {
  const evidence = whole();
  const log = evidence.threads[0].log ?? [];
  for (const { data } of log) {
    const call = data.toolCall as { id: string; name?: string; arguments?: string } | undefined;
    if (call?.id === 'c2' && call.arguments) Object.assign(call, { name: 'shell', arguments: '{"command":"true"}' });
  }
  evidence.ledger = evidence.ledger.filter(({ call }) => call !== 'c2');
  evidence.effects = [];
  expect(judge(evidence).filter(({ rule }) => rule === 'effect lost')).toEqual([]);
});

test('calls whose arguments a compaction has removed are identified by their ids', () => {
  expect(judge(compacted())).toEqual([]);
  const doubled = compacted();
  doubled.ledger.push(line('begin', 'c1', 'm1.0', 46));
  expect(judge(doubled).map(({ rule }) => rule)).toContain('effect doubled');
  const lost = compacted();
  lost.ledger = [];
  lost.effects = [];
  expect(judge(lost).filter(({ rule }) => rule === 'effect lost')).toHaveLength(2);
});

const event = (log: LogEvent[] | undefined, type: string, n = 0) => (log ?? []).filter((one) => one.type === type)[n] as LogEvent;
const without = <T>(list: T[], at: number) => list.splice(at, 1);

const cancelling = (mark: string) => ({ type: 'agent.run.status.changed', data: { status: 'cancelling', details: mark } });
const accepted = (request: string, reason: string) => ({ type: 'agent.request.accepted', data: { request, reason } });

const breaks: [string, string, (evidence: Whole) => void][] = [
  ['wedged', 'a one-shot thread that still runs', ({ threads: [t] }) => (t.plan = { ...plan, mode: 'one-shot' })],
  ['wedged', 'a conversation with a message that waits', ({ threads: [t] }) => (t.view = { status: 'idle', queued: 1 })],
  ['wedged', 'a conversation that still works', ({ threads: [t] }) => (t.view = { status: 'in_progress', queued: 0 })],
  ['wedged', 'a conversation that nobody answers for', ({ threads: [t] }) => delete t.view],
  ['wedged', 'a thread that the server ended', ({ threads: [t] }) => (t.status = 'TERMINATED')],
  [
    'wedged',
    'a thread that was started and is gone',
    ({ threads: [t], journal }) => {
      t.status = 'MISSING';
      journal.push(...asked('s1', { kind: 'start', name: 'start' }));
    },
  ],
  ['wedged', 'a workflow task that fails again and again', ({ threads: [t] }) => (t.taskAttempt = 9)],
  [
    'failed task',
    'a workflow task that failed for a divergence',
    ({ threads: [t] }) => t.executions[0]?.failures.push({ cause: 'NonDeterministicError', message: 'm', eventId: 9 }),
  ],
  [
    'I4',
    'an execution that grew on',
    ({ threads: [t] }) => t.executions.push({ runId: 'f', status: 'x', events: 700, bytes: 1, failures: [] }),
  ],
  ['unreadable', 'a log that nobody can read', ({ threads: [t] }) => delete t.log],
  ['I3', 'a gap in the log', ({ threads: [t] }) => without(t.log as LogEvent[], 1)],
  ['I3', 'a run without an end', ({ threads: [t] }) => t.log?.pop()],
  ['I3', 'a run with two ends', ({ threads: [t] }) => t.log?.push({ ...event(t.log, 'thread.run.completed'), seq: 14 })],
  [
    'I3',
    'a run that goes on after its end',
    ({ threads: [t] }) => t.log?.push({ ...event(t.log, 'agent.run.created'), seq: 14, type: 'x' }),
  ],
  ['I2', 'a call without an outcome', ({ threads: [t] }) => (event(t.log, 'agent.tool.execution.completed', 1).type = 'x')],
  [
    'I2',
    'a call with two outcomes',
    ({ threads: [t] }) => (event(t.log, 'agent.tool.execution.started', 1).type = 'agent.tool.execution.completed'),
  ],
  ['I2', 'a call without its message', ({ threads: [t] }) => without(t.messages, 3)],
  ['I2', 'a message without its call', ({ threads: [t] }) => t.messages.push({ id: 'x', role: 'tool', content: '', toolCallId: 'c9' })],
  ['reader', 'a reader who missed an event', ({ readers }) => without(readers, 3)],
  ['reader', 'a reader who was given an event twice', ({ readers }) => readers.splice(3, 0, readers[2] as Evidence['readers'][0])],
  ['reader', 'a reader who saw another time', ({ readers }) => ((readers[3] as Evidence['readers'][0]).timestamp = time(999))],
  ['reader', 'a reader who saw other words', ({ readers }) => ((readers[3] as Evidence['readers'][0]).hash = 'x')],
  [
    'reader',
    'a reader who saw an event that is not in the log',
    ({ readers }) => readers.push({ ...(readers[12] as Evidence['readers'][0]), seq: 14 }),
  ],
  ['effect doubled', 'a once tool that began twice', ({ ledger }) => ledger.push(line('begin', 'c1', 'm1.0', 60, { attempt: 2 }))],
  [
    'effect doubled',
    'a keyed tool that took effect under two keys',
    ({ effects }) => effects.push({ ...(effects[0] as Evidence['effects'][0]), key: 'k' }),
  ],
  ['effect lost', 'a once tool that succeeded and never ended', ({ ledger }) => without(ledger, 1)],
  ['effect lost', 'a keyed tool that succeeded without an effect', ({ effects }) => without(effects, 0)],
  [
    'effect without approval',
    'a call that was skipped and began',
    ({ threads: [t] }) => (event(t.log, 'agent.tool.execution.completed', 1).data.status = 'skipped'),
  ],
  [
    'effect without approval',
    'a call that the log says never began',
    ({ threads: [t] }) => (event(t.log, 'agent.tool.execution.started', 1).type = 'x'),
  ],
  ['effect without approval', 'an effect of no call at all', ({ ledger }) => ledger.push(line('begin', 'c9', 'm9.9', 60, { key: 'k' }))],
  [
    'effect without approval',
    'a call that began without a decision',
    ({ threads: [t] }) => (event(t.log, 'agent.approval.decided').type = 'x'),
  ],
  [
    'effect without approval',
    'a call that was refused and began',
    ({ threads: [t] }) => (event(t.log, 'agent.approval.decided').data.approved = false),
  ],
  [
    'effect without approval',
    'a call that began before the decision',
    ({ threads: [t] }) => (event(t.log, 'agent.approval.decided').timestamp = time(40)),
  ],
  [
    'effect without approval',
    'a call that one of two agreed to',
    ({ threads: [t] }) => (event(t.log, 'agent.approval.voted').data.by = 'bob'),
  ],
  [
    'effect without approval',
    'a call that a deadline let which may not',
    ({ threads: [t] }) => (event(t.log, 'agent.approval.decided').data.source = 'deadline'),
  ],
  [
    'effect without approval',
    'a call that a hook let which is not there',
    ({ threads: [t] }) => (event(t.log, 'agent.approval.decided').data.source = 'hook'),
  ],
  ['key shared', 'a key of two calls', ({ ledger }) => Object.assign(ledger[2] as LedgerLine, { key: 't/run/c1' })],
  [
    'message lost',
    'a message that was accepted and never queued',
    ({ threads: [t] }) => (event(t.log, 'thread.message.queued').type = 'x'),
  ],
  [
    'message lost',
    'a message that was queued and never taken in',
    ({ threads: [t] }) => (event(t.log, 'thread.message.created').type = 'x'),
  ],
  [
    'message doubled',
    'a message that was taken in twice',
    ({ threads: [t] }) =>
      Object.assign(event(t.log, 'agent.run.created'), { type: 'thread.message.created', data: { message: { id: 'go-1' } } }),
  ],
  ['message without a sender', 'a message that nobody sent', ({ journal }) => journal.splice(4)],
  [
    'decision lost',
    'a decision that was accepted and is not in the log',
    ({ threads: [t] }) => (event(t.log, 'agent.approval.voted').type = 'x'),
  ],
  ['decision doubled', 'a decision that holds twice', ({ threads: [t] }) => (event(t.log, 'agent.approval.voted').data.reason = 'r2')],
  [
    'decision without a sender',
    'a decision that nobody made',
    ({ threads: [t] }) => (event(t.log, 'agent.approval.voted').data.reason = 'r9'),
  ],
  [
    'refused decision applied',
    'a decision that was refused and holds',
    ({ journal }) => {
      for (const one of journal) if (one.mark === 'r1' && one.outcome === 'accepted') one.outcome = 'refused';
    },
  ],
  [
    'decision lost',
    'an answer that was accepted and is not in the log',
    ({ journal }) => journal.push(...asked('r3', { kind: 'output', toolCallId: 'c1' })),
  ],
  ...['pause', 'resume', 'cancel', 'compact', 'close'].map((name): [string, string, (evidence: Whole) => void] => [
    'request lost',
    `a ${name} that was accepted and is not in the log`,
    ({ journal }) => journal.push(...asked('r4', { kind: 'control', name })),
  ]),
  ...['thread.run.completed', 'thread.run.incomplete'].map((end): [string, string, (evidence: Whole) => void] => [
    'cancel without effect',
    `a run that was cancelled and ended with ${end}`,
    ({ journal, threads: [t] }) => {
      journal.push(...asked('r4', { kind: 'control', name: 'cancel' }));
      Object.assign(event(t.log, 'agent.approval.requested'), cancelling('r4'));
      event(t.log, 'thread.run.completed').type = end;
    },
  ]),
  [
    'cancel without effect',
    'a run that was cancelled before it began, and did',
    ({ journal, threads: [t] }) => {
      journal.push(...asked('r4', { kind: 'control', name: 'cancel' }));
      t.log?.unshift({ ...event(t.log, 'agent.run.created'), ...accepted('cancel', 'r4'), seq: 0, runId: null });
    },
  ],
  [
    'cancel without effect',
    'a run that was closed with its thread and came to its answer',
    ({ journal, threads: [t] }) => {
      journal.push(...asked('r4', { kind: 'control', name: 'close' }));
      Object.assign(event(t.log, 'agent.approval.requested'), cancelling('r4'));
    },
  ],
  [
    'false transcript',
    'a model that was sent an answer of a lost attempt',
    ({ model }) => ((model[1] as Evidence['model'][0]).saw[1] = ['a', 'c1', 'c2', 'm7']),
  ],
  [
    'beyond the window',
    'a request that is larger than the window of its model',
    ({ threads: [thread], model }) => {
      thread.plan = { ...plan, kind: 'forgetting' };
      Object.assign(model[1] as object, { tokens: 10_001 });
    },
  ],
  ['task lost', 'a request that does not begin with the task', ({ model }) => (model[1] as Evidence['model'][0]).saw.shift()],
  ['invalid request', 'a request with a call without its result', ({ model }) => (model[1] as Evidence['model'][0]).saw.pop()],
  ['invalid request', 'a request with a result without its call', ({ model }) => (model[1] as Evidence['model'][0]).saw.splice(1, 1)],
  [
    'output lost',
    'a stored output that the model can not read',
    ({ threads: [thread] }) =>
      (thread.log as LogEvent[]).push({
        ...(thread.log as LogEvent[])[9],
        data: { toolCallId: 'c3', name: 'grep_output', status: 'failed', output: 'This thread has no stored output with ref a.' },
      } as LogEvent),
  ],
  ['false transcript', 'a model that was sent less than there was', ({ model }) => (model[1] as Evidence['model'][0]).saw.pop()],
];

/** The same thread, in which the second call is one of another tool. */
function calling(tool: string): Whole {
  const evidence = whole();
  for (const { data } of evidence.threads[0].log ?? []) {
    const call = data.toolCall as { id: string; name?: string } | undefined;
    if (call?.id === 'c2') call.name = tool;
    if (data.toolCallId === 'c2') data.name = tool;
  }
  for (const one of evidence.ledger) if (one.call === 'c2') Object.assign(one, { tool, effect: tool });
  evidence.effects = [];
  return evidence;
}

/** The rules that are broken, but not those of the readers, who read another log. */
const broken = (evidence: Whole) => judge(evidence).flatMap(({ rule }) => (rule === 'reader' ? [] : [rule]));

describe('the calls of tools that are verified', () => {
  const transferred = (times: number) => {
    const evidence = calling('transfer');
    for (let i = 0; i < times; i++) evidence.ledger.push(line('effect', 'c2', 'm1.1', 60 + i, { tool: 'transfer' }));
    return broken(evidence);
  };
  test('take effect once, however often they begin', () => {
    expect([0, 1, 2].map(transferred)).toEqual([['effect lost'], [], ['effect doubled', 'effect lost']]);
  });
});

describe('the calls of sagas', () => {
  /** A run that ended so; its call was compensated under so many keys, and the log says so, or not. */
  const ended = (end: string, keys: number, isTold = true) => {
    const evidence = calling('book');
    const log = evidence.threads[0].log ?? [];
    const last = event(log, 'thread.run.completed');
    if (isTold)
      log.splice(-1, 0, { ...last, seq: 13, type: 'agent.tool.compensation.completed', data: { toolCallId: 'c2', name: 'book' } });
    Object.assign(last, { type: end, seq: log.length });
    const one = { key: 'k', thread: 't', call: 'c2', tool: 'book', n: 'm1.1', at: 1_000_080 };
    evidence.effects = Array.from({ length: keys }, (_, i) => ({ ...one, key: `k${i}` }));
    return broken(evidence);
  };
  test.each(['thread.run.failed', 'thread.run.cancelled', 'thread.run.expired'])('are compensated once after %s', (end) => {
    expect(ended(end, 1)).toEqual([]);
    expect(ended(end, 0)).toEqual(['not compensated']);
    expect(ended(end, 1, false)).toEqual(['not compensated']);
    expect(ended(end, 2)).toEqual(['effect doubled']);
  });
  test.each(['thread.run.completed', 'thread.run.incomplete'])('stay after %s', (end) => {
    expect(ended(end, 0, false)).toEqual([]);
    expect(ended(end, 1)).toEqual(['compensated in vain']);
  });
});

test.each(breaks)('%s: %s', (rule, _, damage) => {
  const evidence = whole();
  damage(evidence);
  expect(judge(evidence).map((violation) => violation.rule)).toContain(rule);
});

test('a worker that did not stop in time is reported, one that was killed or drained is not', () => {
  const end = { slot: 0, pid: 7, at: 0, code: 0, said: '' };
  expect(
    stuckWorkers([
      { ...end, how: 'killed' },
      { ...end, how: 'drained' },
    ]),
  ).toEqual([]);
  expect(stuckWorkers([{ ...end, how: 'did not drain' }])).toMatchObject([{ rule: 'worker did not stop' }]);
});

test('requests in the log break no rule, nor does one that was refused, or whose outcome is unknown', () => {
  const evidence = whole();
  const log = evidence.threads[0].log as LogEvent[];
  const end = log.pop() as LogEvent;
  const traces: Pick<LogEvent, 'type' | 'data'>[] = [
    { type: 'agent.run.paused', data: { reason: 'pause' } },
    { type: 'agent.run.resumed', data: { reason: 'resume' } },
    accepted('compact', 'compact'),
    cancelling('cancel'),
    accepted('cancel', 'again'),
    { type: 'thread.closed', data: { reason: 'requested' } },
    { type: 'thread.run.cancelled', data: { reason: 'cancel' } },
  ];
  for (const trace of traces) log.push({ ...end, ...trace, seq: log.length + 1 });
  evidence.readers = [];
  const control = (mark: string, name = mark) => asked(mark, { kind: 'control', name });
  for (const name of ['pause', 'resume', 'compact', 'cancel', 'close']) evidence.journal.push(...control(name));
  evidence.journal.push(...control('again', 'cancel'));
  const refused = control('late', 'pause').map((line) => ({ ...line, outcome: 'refused' as const }));
  const unknown = control('lost', 'cancel').map((line) => ({ ...line, outcome: 'unknown' as const }));
  evidence.journal.push(...refused, ...unknown);
  expect(judge(evidence)).toEqual([]);
});

test('a message that was signalled too late is not lost if the log says that it was rejected', () => {
  const evidence = whole();
  const log = evidence.threads[0].log as LogEvent[];
  evidence.journal.push(...asked('late', { kind: 'message', name: 'sendMessage', via: 'signal', mark: 'said-1', messageId: 'said-1' }));
  expect(judge(evidence).map(({ rule }) => rule)).toEqual(['message lost']);
  log.push({ ...(log[0] as LogEvent), seq: 14, runId: null, type: 'agent.request.rejected', data: { request: 'sendMessage' } });
  expect(judge(evidence)).toEqual([]);
});
