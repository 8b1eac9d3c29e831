import type { AgentFacts } from './agent';
import type { Attestation, RememberedRule } from './attestation';
import { bounds } from './bounds';
import { changeCall, findCall, isCarriedOut } from './calls';
import { nextBackOff, sizeAfter, turnsOf } from './context/budget';
import { bytesOf } from './context/carry';
import { archivesWith } from './context/summary';
import type { DurableEvent, DurableEventData } from './event';
import { endStatus } from './event';
import type { Json } from './json';
import { type LoadedTool, noteUse } from './loaded-tools';
import { strip } from './log';
import { addUsage, type Message, noUsage, textOf, toolCallsOf, type Usage } from './message';
import { measure } from './metrics';
import { planOf } from './plan';
import { noteReceipt } from './receipts';
import { noteRequest, type RequestMark } from './request-ids';
import { changeCompensation, sagaBegan, sagaEnded } from './sagas';
import { workedMs } from './spent';
import {
  type AskState,
  type BackgroundCall,
  type CallState,
  isOver,
  type Overrides,
  type RunState,
  type SentBack,
  type ThreadState,
} from './state';
import type { AskPolicy, Suspension, Verdict } from './tool';
import { extendHash, tokenOf } from './transcript';
import { unreachable } from './unreachable';
import { argumentsOf } from './views';
import { addWaste, type Waste } from './waste';

/** Data of an event that readers do not need. It changes the state and is not kept in the log. */
export interface Extra {
  /** With a run's creation, or once a worker that has the agent was found: the agent's facts. */
  facts?: AgentFacts;
  /** With a run's creation without facts: the namespace has our search attributes. */
  searchable?: true;
  /** With a compaction: the shortened transcript. */
  transcript?: { messages: Message[]; hash: string };
  /** With a compaction by a summary: the facts that later summaries repeat. */
  retained?: string[];
  /** With an answer: what is to happen with each of its calls, in the model's order. */
  verdicts?: Verdict[];
  /** With a queued message: settings of the run that it begins. */
  overrides?: Overrides;
  /** With a queued message that sends an answer back: why. */
  sentBack?: keyof SentBack;
  /** With a requested approval: its policy, if it is not the tool's own. */
  approval?: AskPolicy;
  /** With the placeholder of a background call that runs in a workflow of its own. */
  background?: Pick<BackgroundCall, 'workflowId' | 'sentId'>;
  /** With the outcome of a `saga` call: what the tool returned. */
  result?: Json;
  /** With found tools: all tools that are loaded now. */
  loadedTools?: LoadedTool[];
  /** With a call's outcome: the tool requests that the run is suspended. */
  suspend?: Suspension;
  /** Number of errors in a row, by the hook's id. */
  hookErrors?: Record<string, number>;
  /** The request that caused the event. */
  request?: RequestMark;
}

/**
 * Applies an event to the state, in place, because copying the transcript for each event would make turns slower as the thread grows. The
 * event joins the log as a record that refers to its messages by id.
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

/** The only change without an event: if each delivery to `on:event` were an event, that event would need another delivery. */
export function noteDelivered(state: ThreadState, delivered: Partial<ThreadState['delivered']>): void {
  state.delivered = { ...state.delivered, ...delivered };
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
      // A new turn follows, so an earlier `done` no longer ends the run.
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
      if (run) delete run.draft;
      return event.data.spent && spend(state, event.data.spent);
    case 'thread.message.completed':
      return answered(state, event, extra.verdicts ?? [], at);
    case 'agent.approval.requested':
      return approvalAsked(run, event, extra.approval, at);
    case 'agent.approval.voted':
      keepSignature(run, event.data);
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
      began(state, event.data.toolCallId);
      return changeCall(run, event.data.toolCallId, { phase: 'running' });
    case 'agent.tool.execution.completed':
      if (run && extra.suspend) run.suspendRequested ??= extra.suspend;
      return executed(state, event, extra);
    case 'agent.tools.loaded':
      if (extra.loadedTools) state.loadedTools = extra.loadedTools;
      return;
    case 'agent.tool.compensation.started':
      return changeCompensation(run, event.data.toolCallId, { status: 'running' });
    case 'agent.tool.compensation.completed':
      return changeCompensation(run, event.data.toolCallId, { status: 'completed' });
    case 'agent.tool.compensation.failed':
      return changeCompensation(run, event.data.toolCallId, { status: 'failed', error: event.data.message });
    case 'agent.tool.outcome.unknown': {
      const { toolCallId, message } = event.data;
      return changeCall(run, toolCallId, { phase: 'unsettled', unknown: message, ask: askedBy(undefined, at) });
    }
    case 'agent.tool.outcome.settled':
      // Otherwise the call keeps its phase until its outcome is recorded, immediately after this event.
      if (event.data.outcome !== 'not-done') return;
      return changeCall(run, event.data.toolCallId, { phase: 'ready', again: true, ask: undefined });
    case 'agent.tool.question.asked':
      return questionAsked(run, event, at);
    case 'agent.tool.question.answered':
      return questionAnswered(run, event);
    case 'agent.tool.background.completed':
      state.background = state.background.filter(({ id }) => id !== event.data.toolCallId);
      sagaEnded(run, event.data.toolCallId, event.data.status, extra.result);
      return queue(state, event);
    case 'agent.limit.reached':
      if (run) run.limitAsk = { ...event.data, since: at };
      return;
    case 'agent.limit.handed_out':
      for (const id of event.data.toolCallIds) handOut(state, id, at);
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
    case 'agent.llm.fallback':
      if (run) run.modelsFailed = (run.modelsFailed ?? 0) + 1;
      return;
    case 'agent.hook.completed':
      if (extra.hookErrors) state.hookErrors = extra.hookErrors;
      if (event.data.editedArguments !== undefined && event.data.toolCallId) {
        const { editedArguments, checked = {} } = event.data;
        changeCall(run, event.data.toolCallId, { editedArguments, editedBy: 'hook', checked });
      }
      return;
    case 'thread.closed':
      state.closed = true;
      return;
    case 'thread.reopened':
      state.closed = false;
      return;
    case 'thread.context.compaction.started':
      // A request that arrives while the model writes the summary is another one.
      if (event.data.reason === 'requested') delete state.compact;
      return;
    case 'thread.context.compacted':
      if (event.data.reason === 'requested' && !event.data.summary) delete state.compact;
      if (event.data.spent) spend(state, event.data.spent);
      return compacted(state, event, extra);
    case 'thread.context.kept':
      return kept(state, event.data);
    case 'agent.request.accepted': {
      const { request, reason, by } = event.data;
      if (request === 'compact') state.compact = { ...(by && { requestedBy: by }), ...(reason && { requestReason: reason }) };
      return;
    }
    case 'thread.run.completed':
    case 'thread.run.failed':
    case 'thread.run.incomplete':
    case 'thread.run.cancelled':
    case 'thread.run.expired':
      return endRun(state, event, at);
    // Other events change the state for these: the answer, the decision or outcome, the status.
    case 'thread.run.step.tool_call.created':
    case 'thread.run.step.tool_call.completed_by_llm':
    case 'agent.input.expired':
    case 'thread.run.requires_action':
    case 'agent.request.rejected':
      return;
    default:
      return unreachable(event);
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
    waitedMs: 0,
    usage: noUsage,
    startedAt: Date.parse(event.timestamp),
    ...(Object.keys(overrides).length > 0 && { overrides }),
    sentBack: { verify: 0, verifyInAll: 0, output: 0, empty: 0, nudge: 0, completion: 0 },
    // A new run of a conversation begins with the last run's transcript.
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

/** Stops or starts the clock of `wallClockMs`: it does not run while the run waits or is paused. */
function setClock({ run, paused }: ThreadState, at: number): void {
  if (!run) return;
  if (run.waitingSince !== undefined) {
    run.waitedMs += at - run.waitingSince;
    delete run.waitingSince;
  }
  if (run.status === 'requires_action' || run.status === 'suspended' || (paused && !isOver(run))) run.waitingSince = at;
}

function compacted(state: ThreadState, { data }: DurableEvent<'thread.context.compacted'>, { transcript, retained }: Extra): void {
  const { run, context } = state;
  const before = bytesOf(state.messages);
  // What continue-as-new removes is still in the execution before, unless it was removed there.
  if (transcript && (data.reason !== 'carry-over' || data.archiveRef)) archive(state, transcript.messages);
  if (transcript) Object.assign(state, transcript);
  // An estimate until the next call measures it: the limit `contextTokens` must not count removed messages.
  // What a provider compacted is measured with its answer.
  if (run && !data.compactedBy)
    run.context = context?.measured ? sizeAfter(state) : Math.round(run.context * Math.min(1, data.bytes / before));
  state.epoch += 1;
  if (!data.summary && !data.archiveRef) return;
  const { backOff, ...rest } = context ?? {};
  const archives = data.archiveRef ? archivesWith(context, data.archiveRef) : context?.archives;
  state.context = { ...rest, ...(backOff && !data.summary && { backOff }), ...(retained && { retained }), ...(archives && { archives }) };
}

/** Keeps the messages that a compaction replaces, for readers. */
function archive(state: ThreadState, kept: readonly Message[]): void {
  const { archived = [], messages } = state;
  const [stays, known] = [new Set(kept), new Set(archived.map(({ id }) => id))];
  const gone = messages.filter((message) => !stays.has(message) && !known.has(message.id));
  if (gone.length > 0) state.archived = [...archived, ...gone];
}

function kept(state: ThreadState, { failed, spent }: DurableEventData['thread.context.kept']): void {
  if (spent) spend(state, spent);
  if (failed) state.context = { ...state.context, backOff: nextBackOff(state) };
  else delete state.compact;
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
    if (run) run.draft = message.id;
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
  delete run.draft;
  const { context } = event.data;
  run.context = context?.usedTokens ?? usage.inputTokens + usage.outputTokens;
  if (context) state.context = { ...state.context, measured: context };
  const calls = toolCallsOf(message.content);
  if (calls.length > 0) run.sentBack.verify = 0;
  if (state.loadedTools)
    state.loadedTools = noteUse(
      state.loadedTools,
      calls.map(({ name }) => name),
      turnsOf(state),
    );
  if (textOf(message.content).trim() !== '' || calls.length > 0) run.sentBack.empty = 0;
  run.calls = calls.map((call, i): CallState => {
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

function began(state: ThreadState, id: string): void {
  const { run } = state;
  const call = findCall(run, id);
  if (!run) return;
  if (!call?.again) countCall(run);
  if (call) sagaBegan(run, call, argumentsOf(state, id));
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
  const verdict = findCall(run, id)?.verdict;
  changeCall(run, id, {
    phase: 'awaiting-approval',
    ask: asked(data, at),
    ...(approval && verdict && isCarriedOut(verdict) && { verdict: { ...verdict, approval } }),
  });
}

function questionAsked(run: RunState | null, { data }: DurableEvent<'agent.tool.question.asked'>, at: number): void {
  const { toolCallId, name: _, questionId, users: __, groups, dueAt, ...question } = data;
  const ask = asked({ ...(groups && { groups }), ...(dueAt && { dueAt }) }, at);
  changeCall(run, toolCallId, { phase: 'awaiting-answer', question: { id: questionId, ...question }, ask });
}

function questionAnswered(run: RunState | null, { data }: DurableEvent<'agent.tool.question.answered'>): void {
  const { toolCallId, questionId, action, content } = data;
  const { answers = [] } = findCall(run, toolCallId) ?? {};
  const answer = { questionId, action, ...(content && { content }) };
  changeCall(run, toolCallId, { phase: 'ready', again: true, question: undefined, ask: undefined, answers: [...answers, answer] });
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

/** Makes a call external. It still needs the approval of the same people, who are then also those that submit its output. */
function handOut({ run, facts }: ThreadState, id: string, at: number): void {
  const call = findCall(run, id);
  if (!facts?.judgesDecisions || call?.verdict.kind !== 'run') {
    return changeCall(run, id, { phase: 'awaiting-output', verdict: { kind: 'external' }, ask: askedBy(undefined, at) });
  }
  const { approval, arguments: args, digest } = call.verdict;
  const { users, groups } = approval ?? {};
  const ask = { ...(users && { users }), ...(groups && { groups }) };
  const checked = { ...(args !== undefined && { arguments: args }), ...(digest && { digest }) };
  changeCall(run, id, {
    verdict: { kind: 'external', ...(approval && { approval, ask }), ...checked },
    ...(call.phase === 'ready' && { phase: 'awaiting-output', ask: askedBy(ask, at) }),
  });
}

function keepSignature(run: RunState | null, { toolCallId, signed }: { toolCallId: string; signed?: Attestation }): void {
  if (signed) changeCall(run, toolCallId, { signed: [...(findCall(run, toolCallId)?.signed ?? []), signed] });
}

/** The newest rules, as many as a thread may have. */
function newestRules(rules: readonly RememberedRule[]): RememberedRule[] {
  let bytes = 0;
  const first = rules.findLastIndex((rule) => {
    bytes += bytesOf(rule);
    return bytes > bounds.rulesBytes;
  });
  return rules.slice(first + 1).slice(-bounds.rules);
}

function decided(state: ThreadState, { data }: DurableEvent<'agent.approval.decided'>, at: number): void {
  const { toolCallId, approved, editedArguments, arguments: args, digest, remembered, stop, by, reason, signed } = data;
  const { run } = state;
  if (remembered) {
    const rules = remembered.map((rule) => ({ ...rule, ...(signed && { signed }) }));
    state.rules = newestRules([...state.rules, ...rules]);
  }
  if (stop && run) run.stopped = { ...(by && { by }), reason: reason ?? 'a call was refused' };
  if (run?.limitAsk?.id === toolCallId) delete run.limitAsk;
  // A refused call keeps its phase until its outcome is recorded, immediately after this event.
  if (!approved) return;
  keepSignature(run, data);
  const verdict = findCall(run, toolCallId)?.verdict;
  const external = verdict?.kind === 'external';
  changeCall(run, toolCallId, {
    phase: external ? 'awaiting-output' : 'ready',
    approved: true,
    ask: external ? askedBy(verdict.ask, at) : undefined,
    ...(editedArguments !== undefined && { editedArguments }),
    // A person's edit replaces an earlier edit by a hook.
    ...(editedArguments !== undefined &&
      state.facts?.judgesDecisions && {
        editedBy: 'person',
        checked: { ...(args !== undefined && { arguments: args }), ...(digest && { digest }) },
      }),
  });
}

function executed(state: ThreadState, { data }: DurableEvent<'agent.tool.execution.completed'>, extra: Extra): void {
  const { run } = state;
  const { toolCallId, name, messageId, status, output, outputRef, error, durationMs, attempts, background } = data;
  const verdict = findCall(run, toolCallId)?.verdict;
  // A call that is executed outside has no `started` event but counts toward the limit.
  if (run && verdict?.kind === 'external' && (status === 'success' || status === 'failed')) run.toolCalls += 1;
  if (run && verdict?.kind === 'reject' && verdict.stop) run.stopped = { reason: verdict.error.message };
  if (run && verdict?.kind === 'done' && status === 'success') run.finalMessage = verdict.message ?? '';
  if (!background) sagaEnded(run, toolCallId, status, extra.result);
  if (background) state.background.push({ id: toolCallId, name, ...extra.background });
  const plan = planOf(name, status, output);
  if (plan !== undefined) state.plan = plan;
  const outcome = {
    status,
    content: output,
    ...(outputRef && { outputRef }),
    ...(error && { error }),
    ...(durationMs !== undefined && { durationMs }),
    ...(attempts && { attempts }),
  };
  changeCall(run, toolCallId, { phase: 'done', outcome, messageId });
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
  delete run.suspendRequested;
  run.suspension = { correlationId, since: at, expiresAt: Date.parse(expiresAt), ...(metadata && { metadata }) };
  delete run.draft;
}

function endRun(state: ThreadState, event: DurableEvent<keyof typeof endStatus>, at: number): void {
  const { run } = state;
  if (!run) return;
  changeStatus(state, endStatus[event.type], at);
  delete run.draft;
  delete run.limitAsk;
  run.endedAt = at;
}

function changeAsk(run: RunState | null, id: string, change: (ask: AskState) => AskState): void {
  const ask = findCall(run, id)?.ask;
  if (ask) changeCall(run, id, { ask: change(ask) });
}
