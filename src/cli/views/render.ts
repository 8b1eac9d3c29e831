import { type AgentEvent, type DurableEvent, type EventData, isTerminal, type PendingCall } from '../../core/event';
import type { FailedAttempt } from '../../core/failure';
import { excerpt } from '../../core/json';
import { textOf, toolCallsOf, type UserMessage, wordsOf } from '../../core/message';
import type { Waste } from '../../core/waste';
import { replyTo, type Shown, shownOfPeople } from './render-people';
import { type Part, Styled, styled } from './styled';
import {
  asItIs,
  callLine,
  editCall,
  line,
  newViewState,
  nothing,
  unaskedQuestion,
  type ViewOptions,
  type ViewState,
  width,
} from './view-state';
import { count, duration, preview, usageWords, wasteWords } from './words';

export type { ViewOptions } from './view-state';

/**
 * Returns a function that converts events to text for people. Call it with each event and print the result, which may end in the middle of a line. It
 * uses no clock and no terminal, so the same events always give the same text.
 *
 * Text of the model is printed as it grows and never twice, whether it arrives in pieces, as snapshots of the text so far, or only when it is complete.
 * A message that starts again is marked.
 */
export function createView(options: ViewOptions): (event: AgentEvent) => Styled {
  const state = newViewState(options);
  return (event) => {
    if (isTerminal(event)) state.running = false;
    const show = shown[event.type] as ((data: unknown, state: ViewState, event: AgentEvent) => Styled) | undefined;
    return show?.(event.data, state, event) ?? nothing;
  };
}

/** Events that are not listed here have nothing to show to a person. */
const shown: Shown = {
  ...shownOfPeople,
  'agent.run.created': (_, state, { timestamp }) => {
    state.startedAt = Date.parse(timestamp);
    state.began = new Set();
    state.running = true;
    return nothing;
  },
  'agent.run.step.created': ({ turn }, state) => {
    state.retriesShown = 0;
    return line(state, styled`\n${state.options.paint.dim(`── turn ${turn} ${'─'.repeat(20)}`)}`);
  },
  'thread.message.created': ({ message }, state) => (message.role === 'user' ? line(state, said(message, state)) : nothing),
  'thread.message.queued': ({ message, delivery = 'next-turn' }, state) =>
    // Between runs, the message begins the next one, which shows it.
    (message.role === 'user' && message.origin) || state.running === false
      ? nothing
      : line(state, state.options.paint.dim(`a message came in; it is read ${whenRead[delivery]}`)),
  'thread.message.superseded': ({ reason }, state) => line(state, state.options.paint.yellow(`! a message was not taken in: ${reason}`)),
  'thread.message.incomplete': ({ messageId, reason, spent }, state) => {
    state.texts.delete(messageId);
    // Only then does the same model begin again.
    const words =
      reason === 'superseded'
        ? '↻ the answer is aborted for a message that must be read now'
        : `! the answer is incomplete: the call ${broken[reason]}`;
    return Styled.join([line(state, state.options.paint.dim(words)), lost(state, spent?.wasted, reason === 'superseded' ? '↻' : '!')]);
  },
  'agent.llm.fallback': ({ model, nextModel, code }, state) =>
    line(state, state.options.paint.yellow(`↻ ${model} failed (${code}): ${nextModel} is used for the rest of the run`)),
  'agent.run.summarized': ({ output, model, usage, durationMs, failed }, state) => {
    state.closing = output;
    return Styled.join([
      asItIs(state, Styled.lines(output.trim())),
      line(
        state,
        state.options.paint.dim(failed ? `default closing text, because the model failed: ${failed}` : footer(model, usage, durationMs)),
      ),
    ]);
  },
  'agent.hook.completed': ({ hook, toolCallId = '', editedArguments, ignored, errors = [] }, state) => {
    editCall(state, toolCallId, editedArguments);
    return Styled.join([
      ...(ignored ? [line(state, state.options.paint.yellow(`! hook ${hook}: ignored: ${ignored}`))] : []),
      ...errors.map(({ id, message, disabled }) => {
        const left = disabled ? '; it is disabled from now on' : '';
        return line(state, state.options.paint.yellow(`! hook ${hook} (${id}) failed: ${excerpt(message, 300)}${left}`));
      }),
    ]);
  },
  'agent.tool.background.completed': ({ name, status, durationMs, message }, state) =>
    outcome(state, { name: `${name} (in the background)`, status, durationMs, text: textOf(message.content) }),
  'thread.message.delta': ({ messageId, attempt, contentChunk, snapshot, restart }, state) => {
    const begun = restart || attempt > (state.texts.get(messageId)?.attempt ?? attempt) ? restarted(state, messageId, attempt) : nothing;
    if (!contentChunk) return begun;
    return styled`${begun}${(snapshot ? upTo : add)(state, messageId, attempt, contentChunk)}`;
  },
  'agent.llm.retry': ({ failureKind, message, delayMs, nextAttempt, maxAttempts, delaySource }, state) => {
    state.retriesShown = (state.retriesShown ?? 0) + 1;
    const asked = delaySource === 'retry-after' ? ', as the provider requested' : '';
    const what = `↻ ${failureKind}: ${message}. Attempt ${nextAttempt} of ${maxAttempts} in ${duration(delayMs)}${asked}`;
    return line(state, state.options.paint.yellow(what));
  },
  'thread.message.completed': ({ message, attempts = [], model, usage, durationMs, wasted }, state) => {
    const late = attempts.slice(state.retriesShown ?? 0).map((attempt) => line(state, state.options.paint.yellow(pastAttempt(attempt))));
    for (const call of toolCallsOf(message.content)) state.calls.set(call.id, call);
    const text = wordsOf(message.content);
    const rest = text ? upTo(state, message.id, message.attempt, text, true) : nothing;
    state.texts.delete(message.id);
    return Styled.join([...late, rest, line(state, state.options.paint.dim(footer(model, usage, durationMs))), lost(state, wasted)]);
  },
  'thread.run.step.tool_call.completed_by_llm': ({ toolCall }, state) => {
    state.calls.set(toolCall.id, toolCall);
    return nothing;
  },
  'agent.tool.execution.started': ({ toolCallId, name }, state) => {
    // A call that is repeated, because its worker was lost or a person answered it, counts once.
    state.began?.add(toolCallId);
    return line(state, callLine(state, state.options.paint.cyan('▸'), toolCallId, name));
  },
  'agent.tool.progress': ({ toolCallId, message }, state, { timestamp }) => {
    const second = timestamp.slice(0, 19);
    const last = state.noted.get(toolCallId);
    if (last?.second === second || last?.message === message) return nothing;
    state.noted.set(toolCallId, { message, second });
    return line(state, state.options.paint.dim(styled`    ${excerpt(message.trim(), width(state) - 8)}`));
  },
  'agent.tool.execution.completed': completed,
  'agent.tools.loaded': ({ tools, unloaded = [] }, state) => {
    const gone = unloaded.length > 0 ? `; no longer sent: ${unloaded.join(', ')}` : '';
    return line(state, state.options.paint.dim(`    + ${excerpt(tools.join(', ') + gone, 1_000)}`));
  },
  'agent.run.status.changed': ({ status, details = '' }, state) => {
    if (status === 'cancelling') return line(state, state.options.paint.yellow('cancelling …'));
    return status === 'queued' ? line(state, state.options.paint.yellow(`… ${details}`)) : nothing;
  },
  'agent.request.rejected': ({ request, reason }, state) =>
    line(state, state.options.paint.yellow(`! a signal "${request}" was rejected: ${reason}`)),
  'thread.context.compaction.started': (_, state) => line(state, state.options.paint.dim('summarizing older context …')),
  'thread.context.kept': ({ failed }, state) =>
    line(state, state.options.paint.dim(failed ? `the context was not compacted: ${failed}` : 'nothing of the context could be compacted')),
  'thread.context.compacted': ({ droppedMessages, prunedOutputs, summary, compactedBy }, state) => {
    if (compactedBy !== undefined) {
      const words = styled`older context was compacted by the provider of ${compactedBy}: ${count(droppedMessages, 'message')} replaced`;
      return line(state, state.options.paint.dim(words));
    }
    const dropped = `${count(droppedMessages, 'message')} ${summary ? 'replaced by a summary' : 'dropped'}`;
    return line(state, state.options.paint.dim(`older context was compacted: ${count(prunedOutputs, 'output')} shortened, ${dropped}`));
  },
  'thread.closed': ({ reason }, state) => line(state, state.options.paint.dim(`the conversation is closed (${reason})`)),
  'thread.reopened': ({ by, reason }, state) =>
    line(state, state.options.paint.dim(`the conversation is open again${by ? ` (${by})` : ''}${reason ? `: ${reason}` : ''}`)),
  'thread.run.completed': ({ turns, usage }, state, event) => {
    const { green, dim } = state.options.paint;
    const calls = state.began && count(state.began.size, 'tool call');
    const facts = [count(turns, 'turn'), calls, usageWords(usage), took(state, event)].filter(Boolean);
    return line(state, styled`\n${green('✔ completed')} ${dim(`· ${facts.join(' · ')}`)}`);
  },
  'thread.run.failed': ({ code, message }, state) => line(state, styled`\n${state.options.paint.red(`✖ failed (${code})`)} ${message}`),
  'thread.run.incomplete': ({ message }, state) => line(state, styled`\n${state.options.paint.yellow('✖ incomplete')} ${message}`),
  'thread.run.cancelled': ({ reason, by }, state) =>
    line(state, styled`\n${state.options.paint.yellow('✖ cancelled')}${by ? ` by ${by}` : ''}${reason ? `: ${reason}` : ''}`),
  'thread.run.expired': ({ reason, message }, state) =>
    line(state, styled`\n${state.options.paint.red(reason === 'suspended' ? '✖ expired' : '✖ ended from outside')} ${message}`),
};

const whenRead = { 'next-turn': 'at the next turn', now: 'immediately', 'after-run': 'after this run' };
const broken = { failed: 'failed', cancelled: 'was cancelled' };

function said({ content, origin }: UserMessage, { options: { paint } }: ViewState): Styled {
  const who = origin ? paint.dim(origin) : paint.cyan('you');
  return styled`${who} ${Styled.lines(excerpt(textOf(content), 500))}`;
}

/** The cost of attempts that gave no answer. */
function lost(state: ViewState, wasted: Waste | undefined, mark = '↻'): Styled {
  return wasted ? line(state, state.options.paint.dim(`${mark} ${wasteWords(wasted)}`)) : nothing;
}

function footer(model: string, usage: Parameters<typeof usageWords>[0], durationMs: number): string {
  return `${model} · ${usageWords(usage)} · ${duration(durationMs)}`;
}

function completed(
  { toolCallId, name, status, output, durationMs, attempts, background }: EventData['agent.tool.execution.completed'],
  state: ViewState,
): Styled {
  const { paint } = state.options;
  if (background)
    return line(state, styled`${callLine(state, paint.cyan('…'), toolCallId, name)}  ${paint.dim('continues in the background')}`);
  const neverRan = status === 'rejected' || status === 'skipped';
  const asked = unaskedQuestion(state, toolCallId);
  const first = neverRan ? styled`${callLine(state, paint.red('✗'), toolCallId, name)}  ${paint.red(status)}` : undefined;
  return styled`${asked}${outcome(state, { name, status, durationMs, attempts, text: textOf(output), ...(first && { first }) })}`;
}

interface Outcome {
  name: string;
  status: string;
  durationMs?: number | undefined;
  attempts?: number | undefined;
  text: string;
  /** Replaces mark, name and facts. */
  first?: Styled;
}

function outcome(state: ViewState, { name, status, durationMs, attempts, text, first }: Outcome): Styled {
  const { paint } = state.options;
  const ok = status === 'success';
  const facts = [durationMs === undefined ? '' : duration(durationMs), attempts ? `${attempts} attempts` : ''].filter(Boolean).join(' · ');
  const mark = ok ? paint.green('✓') : paint.red('✗');
  const lines = text.trim() === '' ? [] : preview(text, 4, 3, width(state) - 6);
  const told: Part[] = [mark, name, ...(ok ? [] : [paint.red(status)]), ...(facts ? [paint.dim(facts)] : [])];
  return Styled.join([
    line(state, first ?? Styled.join(told, ' ')),
    ...lines.map((l) => line(state, paint.dim(styled`    ${Styled.lines(l)}`))),
  ]);
}

function took(state: ViewState, event: AgentEvent): string {
  return state.startedAt === undefined ? '' : duration(Date.parse(event.timestamp) - state.startedAt);
}

function pastAttempt({ kind, message, waitMs }: FailedAttempt): string {
  return `↻ ${kind}: ${message}${waitMs === undefined ? '' : ` (then waited ${duration(waitMs)})`}`;
}

function restarted(state: ViewState, messageId: string, attempt: number): Styled {
  const { text = '' } = state.texts.get(messageId) ?? {};
  state.texts.set(messageId, { attempt, text: '', shown: 0 });
  return text === ''
    ? nothing
    : line(state, state.options.paint.yellow(`↻ answer interrupted; the model begins again (attempt ${attempt})`));
}

function add(state: ViewState, messageId: string, attempt: number, chunk: string, whole = false): Styled {
  const entry = state.texts.get(messageId) ?? { attempt, text: '', shown: 0 };
  // Late text of an abandoned attempt is ignored.
  if (attempt < entry.attempt) return nothing;
  const text = entry.text + chunk;
  const { added, to } = Styled.since(text, entry.shown, whole);
  state.texts.set(messageId, { attempt, text, shown: to });
  if (added.text !== '') state.atLineStart = added.text.endsWith('\n');
  return added;
}

/** Prints the new part of a text, given the whole text or its newest end. */
function upTo(state: ViewState, messageId: string, attempt: number, all: string, whole = false): Styled {
  const entry = state.texts.get(messageId);
  if (entry && attempt < entry.attempt) return nothing;
  const begun = entry && attempt > entry.attempt ? restarted(state, messageId, attempt) : undefined;
  const before = begun ? '' : (entry?.text ?? '');
  if (all.startsWith(before)) return styled`${begun ?? ''}${add(state, messageId, attempt, all.slice(before.length), whole)}`;
  // The snapshot of a long text has only its end, so the text that is on the screen must be found in it.
  const known = before.slice(-200);
  const at = all.lastIndexOf(known);
  if (at !== -1) return add(state, messageId, attempt, all.slice(at + known.length), whole);
  const gap = line(state, state.options.paint.dim('…'));
  return styled`${gap}${add(state, messageId, attempt, all, whole)}`;
}

/** The calls that a run waits for after this event, or undefined if it does not wait. */
export function restsOn(event: AgentEvent): PendingCall[] | undefined {
  if (event.type === 'agent.run.suspended') return [replyTo((event as DurableEvent<'agent.run.suspended'>).data)];
  return event.type === 'thread.run.requires_action' ? (event as DurableEvent<'thread.run.requires_action'>).data.pending : undefined;
}
