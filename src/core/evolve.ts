import type { AgentFacts } from './agent';
import { bounds } from './bounds';
import { bytesOf } from './context/carry';
import type { DurableEvent, DurableEventData } from './event';
import { endStatus, isTerminal } from './event';
import { strip } from './log';
import { addUsage, type Message, noUsage, type Usage } from './message';
import { measure } from './metrics';
import { noteReceipt } from './receipts';
import { noteRequest, type RequestMark } from './request-ids';
import { workedMs } from './spent';
import { type AskState, type CallState, isOver, type Overrides, type RunState, type SentBack, type ThreadState } from './state';
import type { AskPolicy, Suspension, Verdict } from './tool';
import { extendHash, tokenOf } from './transcript';
import { addWaste, type Waste } from './waste';

/** What the workflow knows beyond the event itself, and no reader needs: kept out of the log, folded into the state. */
export interface Extra {
  /** With a run's creation, or once a worker that has the agent was found: what the agent is. */
  facts?: AgentFacts;
  /** With a run's creation, where no worker told its facts: the namespace has our search attributes. */
  searchable?: true;
  /** The messages as they stand after the transcript was rewritten. */
  transcript?: { messages: Message[]; hash: string };
  /** With an answer: what is to happen with each of its calls, in the model's order. */
  verdicts?: Verdict[];
  /** With a queued message: what the run that it begins is to do differently. */
  overrides?: Overrides;
  /** With a queued message: an answer was sent back by it. */
  sentBack?: keyof SentBack;
  /** With an approval that is asked for: how, where it is not the tool's own way. */
  approval?: AskPolicy;
  /** With a call's outcome: it asks that the run rest. */
  suspend?: Suspension;
  /** Errors in a row, by the hook's id. */
  hookErrors?: Record<string, number>;
  /** The event follows this request. */
  request?: RequestMark;
}

/**
 * Folds an event into the state, in place: the state belongs to the one thread that records, and copying a transcript for each event
 * would make a turn's cost grow with its age. The event joins the log as a record that points at its messages.
 */
export function evolve(state: ThreadState, event: DurableEvent, extra: Extra = {}): void {
  measure(state.metrics, event, state.run);
  apply(state, event, extra);
  if (extra.request)
    noteRequest(state, extra.request, event.seq, event.type === 'thread.message.queued' ? event.data.message.id : undefined);
  state.log.push({
    seq: event.seq,
    type: event.type,
    at: Date.parse(event.timestamp),
    runId: event.runId,
    data: strip(event.type, event.data),
  });
  state.nextSeq = event.seq + 1;
}

function apply(state: ThreadState, event: DurableEvent, extra: Extra): void {
  const run = state.run;
  const at = Date.parse(event.timestamp);
  switch (event.type) {
    case 'agent.run.created':
      return beginRun(state, event, extra);
    case 'agent.run.status.changed':
      if (extra.facts) learn(state, extra.facts);
      return changeStatus(state, event.data.status, at);
    case 'agent.run.step.created':
      if (!run) return;
      run.turn = event.data.turn;
      // Said before there was more to do: only the last `done` ends the run.
      delete run.finalMessage;
      return;
    case 'thread.message.queued':
      if (extra.sentBack && run) countSentBack(run.sentBack, extra.sentBack);
      return queue(state, event, extra.overrides);
    case 'thread.message.superseded':
      state.queue = state.queue.filter((m) => m.id !== event.data.messageId);
      return noteReceipt(state, { id: event.data.messageId, state: 'superseded', seq: event.seq, reason: event.data.reason });
    case 'thread.message.created':
      return joined(state, event);
    case 'thread.message.incomplete':
      if (run) delete run.shell;
      return event.data.spent && spend(state, event.data.spent);
    case 'thread.message.completed':
      return answered(state, event, extra.verdicts ?? [], at);
    case 'agent.approval.requested':
      return approvalAsked(run, event, extra.approval, at);
    case 'agent.approval.voted':
      return changeAsk(run, event.data.toolCallId, (ask) => ({ ...ask, votes: [...ask.votes, event.data.by] }));
    case 'agent.approval.escalated': {
      const { toolCallId, groups, dueAt } = event.data;
      return changeAsk(run, toolCallId, ({ dueAt: _, ...ask }) => ({
        ...ask,
        passed: ask.passed + 1,
        ...(groups && { groups }),
        ...(dueAt && { dueAt: Date.parse(dueAt) }),
      }));
    }
    case 'agent.approval.decided':
      return decided(state, event, at);
    case 'agent.tool.execution.started':
      if (run) countCall(run);
      return setCall(run, event.data.toolCallId, { phase: 'running' });
    case 'agent.tool.execution.completed':
      if (run && extra.suspend) run.suspendAsked ??= extra.suspend;
      return executed(state, event);
    case 'agent.tool.background.completed':
      state.background = state.background.filter(({ id }) => id !== event.data.toolCallId);
      return queue(state, event);
    case 'agent.limit.reached':
      if (run) run.limitAsk = { ...event.data, since: at };
      return;
    case 'agent.limit.handed_out':
      for (const id of event.data.toolCallIds)
        setCall(run, id, { phase: 'awaiting-output', verdict: { kind: 'external' }, ask: askedBy(undefined, at) });
      return;
    case 'agent.limit.extended':
      return extended(state, event.data);
    case 'agent.run.paused':
      state.paused = { ...event.data, since: at };
      return setClock(state, at);
    case 'agent.run.resumed':
      delete state.paused;
      return setClock(state, at);
    case 'agent.run.suspended':
      return suspended(run, event, at);
    case 'agent.run.summarized':
      return spend(state, event.data);
    case 'agent.hook.completed':
      if (extra.hookErrors) state.hookErrors = extra.hookErrors;
      if (event.data.editedArguments !== undefined && event.data.toolCallId) {
        const { editedArguments, checked = {} } = event.data;
        setCall(run, event.data.toolCallId, { editedArguments, editedBy: 'hook', checked });
      }
      return;
    case 'thread.closed':
      state.closed = true;
      return;
    case 'thread.context.compacted':
      return compacted(state, event, extra.transcript);
    default:
      if (isTerminal(event)) endRun(state, event, at);
  }
}

function beginRun(state: ThreadState, event: DurableEvent<'agent.run.created'>, { facts, searchable }: Extra): void {
  const last = state.run;
  if (last) {
    const { before } = state;
    state.before = {
      turns: before.turns + last.turn,
      toolRounds: before.toolRounds + last.toolRounds,
      toolCalls: before.toolCalls + last.toolCalls,
      costUsd: before.costUsd + last.costUsd,
      workedMs: before.workedMs + workedMs(last, Date.parse(event.timestamp)),
    };
  }
  if (facts) learn(state, facts);
  if (searchable) state.searchable = true;
  const opening = event.data.initialMessages.map((message) => message.id);
  const overrides: Overrides = Object.assign({}, ...state.queue.filter((m) => opening.includes(m.id)).map((m) => m.overrides));
  state.run = {
    id: event.runId ?? '',
    number: (last?.number ?? 0) + 1,
    status: 'in_progress',
    turn: 0,
    toolRounds: 0,
    toolCalls: 0,
    costUsd: 0,
    restedMs: 0,
    usage: noUsage,
    startedAt: Date.parse(event.timestamp),
    ...(Object.keys(overrides).length > 0 && { overrides }),
    sentBack: { verify: 0, verifyInAll: 0, output: 0, empty: 0, nudge: 0, completion: 0 },
    // A new run of a conversation sends what the last one left.
    context: last?.context ?? 0,
    calls: [],
    opening,
  };
  setClock(state, Date.parse(event.timestamp));
}

function learn(state: ThreadState, facts: AgentFacts): void {
  state.facts = facts;
  delete state.searchable;
}

function changeStatus(state: ThreadState, status: RunState['status'], at: number): void {
  const { run } = state;
  if (!run) return;
  run.status = status;
  if (status !== 'requires_action' && status !== 'suspended') delete run.suspension;
  setClock(state, at);
}

/** What rests, or is held by a pause, does not work: the clock of `wallClockMs` stands still. */
function setClock({ run, paused }: ThreadState, at: number): void {
  if (!run) return;
  if (run.restingSince !== undefined) {
    run.restedMs += at - run.restingSince;
    delete run.restingSince;
  }
  if (run.status === 'requires_action' || run.status === 'suspended' || (paused && !isOver(run))) run.restingSince = at;
}

function compacted(state: ThreadState, { data }: DurableEvent<'thread.context.compacted'>, transcript: Extra['transcript']): void {
  // Measured again with the next call; until then a limit of context must not hold against what made way.
  if (state.run) state.run.context = Math.round(state.run.context * Math.min(1, data.bytes / bytesOf(state.messages)));
  if (transcript) Object.assign(state, transcript);
  state.epoch += 1;
}

function queue(
  state: ThreadState,
  { seq, data }: DurableEvent<'thread.message.queued'> | DurableEvent<'agent.tool.background.completed'>,
  overrides?: Overrides,
): void {
  const { message } = data;
  if (message.role !== 'user') return;
  const later = 'delivery' in data && data.delivery === 'after-run';
  state.queue.push({ ...message, ...(later && { delivery: 'after-run' }), ...(overrides && { overrides }) });
  noteReceipt(state, { id: message.id, state: 'accepted', seq });
}

function joined(state: ThreadState, event: DurableEvent<'thread.message.created'>): void {
  const { run } = state;
  const { message, inProgress } = event.data;
  if (inProgress) {
    if (run) run.shell = message.id;
    return;
  }
  state.queue = state.queue.filter((m) => m.id !== message.id);
  if (message.role === 'tool' && run) run.calls = run.calls.filter((call) => call.id !== message.toolCallId);
  if (message.role === 'user') {
    noteReceipt(state, { id: message.id, state: 'injected', seq: event.seq, ...(run && { runId: run.id, turn: run.turn }) });
  }
  append(state, message, event);
}

function append(state: ThreadState, message: Message, event: { runId: string | null; data: { stepId?: string } }): void {
  const runId = event.runId ?? undefined;
  const { stepId } = event.data;
  state.messages.push({ ...message, ...(runId && { runId }), ...(stepId && { stepId }) });
  state.hash = extendHash(state.hash, tokenOf(message));
}

function answered(state: ThreadState, event: DurableEvent<'thread.message.completed'>, verdicts: Verdict[], at: number): void {
  const { message, usage }: DurableEventData['thread.message.completed'] = event.data;
  append(state, message, event);
  spend(state, event.data);
  const { run } = state;
  if (!run) return;
  delete run.shell;
  run.context = usage.inputTokens + usage.outputTokens;
  if (message.toolCalls.length > 0) run.sentBack.verify = 0;
  if (message.content.trim() !== '' || message.toolCalls.length > 0) run.sentBack.empty = 0;
  run.calls = message.toolCalls.map((call, i): CallState => {
    const verdict = verdicts[i] ?? { kind: 'external' };
    const waits = verdict.kind === 'external' && !verdict.approval;
    const ask = waits ? askedBy(verdict.ask, at) : undefined;
    return { id: call.id, name: call.name, verdict, phase: waits ? 'awaiting-output' : 'ready', ...(ask && { ask }) };
  });
}

function countSentBack(counts: SentBack, what: keyof SentBack): void {
  counts[what] += 1;
  if (what === 'verify') counts.verifyInAll += 1;
}

function countCall(run: RunState): void {
  run.toolCalls += 1;
  if (run.roundOf === run.turn) return;
  run.roundOf = run.turn;
  run.toolRounds += 1;
}

function approvalAsked(
  run: RunState | null,
  { data }: DurableEvent<'agent.approval.requested'>,
  approval: AskPolicy | undefined,
  at: number,
): void {
  const { id } = data.toolCall;
  const verdict = run?.calls.find((call) => call.id === id)?.verdict;
  setCall(run, id, {
    phase: 'awaiting-approval',
    ask: asked(data, at),
    ...(approval && verdict && { verdict: { ...verdict, approval } }),
  });
}

function spend(state: ThreadState, { wasted, ...answer }: { usage: Usage; costUsd?: number; wasted?: Waste }): void {
  const { usage, costUsd = 0 } = addWaste(answer, wasted) ?? answer;
  state.usage = addUsage(state.usage, usage);
  if (!state.run) return;
  state.run.usage = addUsage(state.run.usage, usage);
  state.run.costUsd += costUsd;
}

function asked({ groups, dueAt }: { groups?: string[]; dueAt?: string }, at: number): AskState {
  return { since: at, votes: [], passed: 0, ...(groups && { groups }), ...(dueAt && { dueAt: Date.parse(dueAt) }) };
}

function askedBy({ groups, deadlineMs }: AskPolicy = {}, at: number): AskState {
  return { since: at, votes: [], passed: 0, ...(groups && { groups }), ...(deadlineMs !== undefined && { dueAt: at + deadlineMs }) };
}

function decided(state: ThreadState, { data }: DurableEvent<'agent.approval.decided'>, at: number): void {
  const { toolCallId, approved, editedArguments, remembered, stop, by, reason } = data;
  const { run } = state;
  if (remembered) state.rules = [...state.rules, ...remembered].slice(-bounds.rules);
  if (stop && run) run.stopped = { ...(by && { by }), reason: reason ?? 'a call was refused' };
  if (run?.limitAsk?.id === toolCallId) delete run.limitAsk;
  // A refused call stays where it is until its outcome is recorded, in the same breath.
  if (!approved) return;
  const verdict = run?.calls.find((call) => call.id === toolCallId)?.verdict;
  const external = verdict?.kind === 'external';
  if (run) run.calls = run.calls.map(({ ask, ...call }) => (call.id === toolCallId || !ask ? call : { ...call, ask }) as CallState);
  setCall(run, toolCallId, {
    phase: external ? 'awaiting-output' : 'ready',
    approved: true,
    ...(external && { ask: askedBy(verdict.ask, at) }),
    ...(editedArguments === undefined ? {} : { editedArguments }),
  });
}

function executed(state: ThreadState, { data }: DurableEvent<'agent.tool.execution.completed'>): void {
  const { run } = state;
  const { toolCallId, name, messageId, status, output, error, durationMs, attempts, background } = data;
  const verdict = run?.calls.find((call) => call.id === toolCallId)?.verdict;
  // A call that is executed outside was never `started` here, and counts all the same.
  if (run && verdict?.kind === 'external' && (status === 'success' || status === 'failed')) run.toolCalls += 1;
  if (run && verdict?.kind === 'reject' && verdict.stop) run.stopped = { reason: verdict.error.message };
  if (run && verdict?.kind === 'done' && status === 'success') run.finalMessage = verdict.message ?? '';
  if (background) state.background.push({ id: toolCallId, name });
  const outcome = {
    status,
    content: output,
    ...(error && { error }),
    ...(durationMs !== undefined && { durationMs }),
    ...(attempts && { attempts }),
  };
  setCall(run, toolCallId, { phase: 'done', outcome, messageId });
}

function extended(state: ThreadState, { limit, max, scope }: DurableEventData['agent.limit.extended']): void {
  const { run } = state;
  if (scope === 'thread') state.extended = { ...state.extended, [limit]: max };
  else if (run) run.extended = { ...run.extended, [limit]: max };
  if (run) delete run.limitAsk;
}

function suspended(run: RunState | null, { data }: DurableEvent<'agent.run.suspended'>, at: number): void {
  if (!run) return;
  const { correlationId, expiresAt, metadata } = data;
  delete run.suspendAsked;
  run.suspension = { correlationId, since: at, expiresAt: Date.parse(expiresAt), ...(metadata && { metadata }) };
  delete run.shell;
}

function endRun(state: ThreadState, event: DurableEvent<keyof typeof endStatus>, at: number): void {
  const { run } = state;
  if (!run) return;
  changeStatus(state, endStatus[event.type], at);
  delete run.shell;
  delete run.limitAsk;
  run.endedAt = at;
}

function changeAsk(run: RunState | null, id: string, change: (ask: AskState) => AskState): void {
  const ask = run?.calls.find((call) => call.id === id)?.ask;
  if (ask) setCall(run, id, { ask: change(ask) });
}

function setCall(run: RunState | null, id: string, change: object): void {
  if (!run) return;
  run.calls = run.calls.map((call) => (call.id === id ? ({ ...call, ...change } as CallState) : call));
}
