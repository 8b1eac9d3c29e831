import type { AgentEvent, DurableEvent, EventData, PendingCall } from '../core/event';
import type { FailedAttempt } from '../core/failure';
import { excerpt } from '../core/json';
import { textOf } from '../core/message';
import { count, duration, preview, printable, shortArguments, usageWords } from './words';

/** The colours that a view uses; picocolors has them. */
export type Paint = Record<'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan', (text: string) => string>;

export interface ViewOptions {
  paint: Paint;
  /** Columns of the terminal. Default 100. */
  width?: number;
  /** How the reader answers what waits, in words that follow the call; nothing where the program asks itself. */
  hint?: (call: PendingCall) => string;
}

/**
 * Events to text for people: give it each event and print what it returns, which may end in the middle of a line. It knows no clock and
 * no terminal, so the same events always give the same text.
 *
 * Text of the model is printed as it grows and never twice, whether it comes as pieces, as snapshots of all so far, or only when it is
 * whole; a message that is begun anew says so first.
 */
export function createView(options: ViewOptions): (event: AgentEvent) => string {
  const state: ViewState = { options, atLineStart: true, texts: new Map(), calls: new Map(), noted: new Map() };
  return (event) => {
    const show = shown[event.type] as ((data: unknown, state: ViewState, event: AgentEvent) => string) | undefined;
    return show?.(event.data, state, event) ?? '';
  };
}

interface ViewState {
  options: ViewOptions;
  atLineStart: boolean;
  /** What is on the screen of each message that the model is writing. */
  texts: Map<string, { attempt: number; text: string }>;
  calls: Map<string, { name: string; arguments: string }>;
  /** The last progress of each call, and the second in which it was shown. */
  noted: Map<string, { message: string; second: string }>;
  retriesShown?: number;
  startedAt?: number;
  toolCalls?: number;
}

/** Events that are not here change nothing that a person needs to see. */
const shown: { [T in keyof EventData]?: (data: EventData[T], state: ViewState, event: AgentEvent) => string } = {
  'agent.run.created': (_, state, { timestamp }) => {
    state.startedAt = Date.parse(timestamp);
    state.toolCalls = 0;
    return '';
  },
  'agent.run.step.created': ({ turn }, state) => {
    state.retriesShown = 0;
    return line(state, `\n${state.options.paint.dim(`── turn ${turn} ${'─'.repeat(20)}`)}`);
  },
  'thread.message.created': ({ message }, state) =>
    message.role === 'user' ? line(state, `${state.options.paint.cyan('you')} ${excerpt(printable(textOf(message.content)), 500)}`) : '',
  'thread.message.queued': (_, state) => line(state, state.options.paint.dim('a message came in; it is read at the next turn')),
  'thread.message.delta': ({ messageId, attempt, contentChunk, snapshot, restart }, state) => {
    const begun = restart || attempt > (state.texts.get(messageId)?.attempt ?? attempt) ? restarted(state, messageId, attempt) : '';
    if (!contentChunk) return begun;
    return begun + (snapshot ? upTo(state, messageId, attempt, contentChunk) : add(state, messageId, attempt, contentChunk));
  },
  'agent.llm.retry': ({ failureKind, message, delayMs, nextAttempt, maxAttempts, delaySource }, state) => {
    state.retriesShown = (state.retriesShown ?? 0) + 1;
    const asked = delaySource === 'retry-after' ? ', as the provider asks' : '';
    const what = `↻ ${failureKind}: ${printable(message)}. Attempt ${nextAttempt} of ${maxAttempts} in ${duration(delayMs)}${asked}`;
    return line(state, state.options.paint.yellow(what));
  },
  'thread.message.completed': ({ message, attempts = [], model, usage, durationMs }, state) => {
    const late = attempts.slice(state.retriesShown ?? 0).map((attempt) => line(state, state.options.paint.yellow(pastAttempt(attempt))));
    for (const call of message.toolCalls) state.calls.set(call.id, call);
    const text = message.refusal || message.content;
    const rest = text ? upTo(state, message.id, message.attempt, text) : '';
    state.texts.delete(message.id);
    return late.join('') + rest + line(state, state.options.paint.dim(`${model} · ${usageWords(usage)} · ${duration(durationMs)}`));
  },
  'thread.run.step.tool_call.completed_by_llm': ({ toolCall }, state) => {
    state.calls.set(toolCall.id, toolCall);
    return '';
  },
  'agent.tool.execution.started': ({ toolCallId, name }, state) => {
    state.toolCalls = (state.toolCalls ?? 0) + 1;
    return line(state, callLine(state, state.options.paint.cyan('▸'), toolCallId, name));
  },
  'agent.tool.progress': ({ toolCallId, message }, state, { timestamp }) => {
    const second = timestamp.slice(0, 19);
    const last = state.noted.get(toolCallId);
    if (last?.second === second || last?.message === message) return '';
    state.noted.set(toolCallId, { message, second });
    return line(state, state.options.paint.dim(`    ${excerpt(printable(message).trim(), width(state) - 8)}`));
  },
  'agent.tool.execution.completed': completed,
  'agent.approval.requested': ({ toolCall, reason }, state) => {
    const { paint } = state.options;
    state.calls.set(toolCall.id, toolCall);
    const why = reason ? paint.yellow(`  ${printable(reason)}`) : '';
    return line(state, `${callLine(state, paint.yellow('?'), toolCall.id, toolCall.name)}${paint.yellow('  needs an approval')}${why}`);
  },
  'agent.approval.decided': ({ toolCallId, approved, by, reason, editedArguments }, state) => {
    const { paint } = state.options;
    const what = approved ? paint.green('approved') : paint.red('refused');
    const edited = editedArguments === undefined ? '' : ` with other arguments: ${shortArguments(editedArguments, width(state) - 40)}`;
    return line(
      state,
      `  ${what}${by ? ` by ${printable(by)}` : ''}${reason ? `: ${printable(reason)}` : ''}${edited || paint.dim(` (${nameOf(state, toolCallId)})`)}`,
    );
  },
  'thread.run.requires_action': ({ pending }, state) => {
    const { paint, hint } = state.options;
    return pending
      .map((call) => {
        const outside =
          call.kind === 'output'
            ? line(
                state,
                callLine(state, paint.yellow('?'), call.toolCallId, call.name) + paint.yellow('  waits for its output from outside'),
              )
            : '';
        const how = hint?.(call);
        return outside + (how ? line(state, paint.dim(`    ${how}`)) : '');
      })
      .join('');
  },
  'agent.run.status.changed': ({ status }, state) =>
    status === 'cancelling' ? line(state, state.options.paint.yellow('cancelling …')) : '',
  'agent.request.rejected': ({ request, reason }, state) =>
    line(state, state.options.paint.yellow(`! a signal "${printable(request)}" was not followed: ${printable(reason)}`)),
  'thread.context.compacted': ({ droppedMessages, prunedOutputs }, state) =>
    line(
      state,
      state.options.paint.dim(
        `older context made way: ${count(prunedOutputs, 'output')} shortened, ${count(droppedMessages, 'message')} left out`,
      ),
    ),
  'thread.closed': ({ reason }, state) => line(state, state.options.paint.dim(`the conversation is closed (${reason})`)),
  'thread.run.completed': ({ turns, usage }, state, event) => {
    const { green, dim } = state.options.paint;
    const facts = [count(turns, 'turn'), count(state.toolCalls ?? 0, 'tool call'), usageWords(usage), took(state, event)].filter(Boolean);
    return line(state, `\n${green('✔ completed')} ${dim(`· ${facts.join(' · ')}`)}`);
  },
  'thread.run.failed': ({ code, message }, state) =>
    line(state, `\n${state.options.paint.red(`✖ failed (${code})`)} ${printable(message)}`),
  'thread.run.incomplete': ({ message }, state) => line(state, `\n${state.options.paint.yellow('✖ incomplete')} ${printable(message)}`),
  'thread.run.cancelled': ({ reason, by }, state) =>
    line(
      state,
      `\n${state.options.paint.yellow('✖ cancelled')}${by ? ` by ${printable(by)}` : ''}${reason ? `: ${printable(reason)}` : ''}`,
    ),
  'thread.run.expired': ({ message }, state) => line(state, `\n${state.options.paint.red('✖ ended from outside')} ${printable(message)}`),
};

function completed(
  { toolCallId, name, status, output, durationMs, attempts }: EventData['agent.tool.execution.completed'],
  state: ViewState,
): string {
  const { paint } = state.options;
  const ok = status === 'success';
  const facts = [durationMs === undefined ? '' : duration(durationMs), attempts ? `${attempts} attempts` : ''].filter(Boolean).join(' · ');
  const mark = ok ? paint.green('✓') : paint.red('✗');
  const neverRan = status === 'rejected' || status === 'skipped';
  const first = neverRan
    ? `${callLine(state, mark, toolCallId, name)}  ${paint.red(status)}`
    : [mark, name, ok ? '' : paint.red(status), facts && paint.dim(facts)].filter(Boolean).join(' ');
  const text = textOf(output);
  const lines = text.trim() === '' ? [] : preview(text, 4, 3, width(state) - 6);
  return line(state, first) + lines.map((l) => line(state, paint.dim(`    ${l}`))).join('');
}

function width({ options }: ViewState): number {
  // A terminal that does not know its width says 0.
  return Math.max(40, options.width || 100);
}

function callLine(state: ViewState, mark: string, id: string, name: string): string {
  const args = shortArguments(state.calls.get(id)?.arguments ?? '', width(state) - name.length - 6);
  return `${mark} ${state.options.paint.bold(name)}${args ? ` ${args}` : ''}`;
}

function nameOf(state: ViewState, id: string): string {
  return state.calls.get(id)?.name ?? id;
}

function took(state: ViewState, event: AgentEvent): string {
  return state.startedAt === undefined ? '' : duration(Date.parse(event.timestamp) - state.startedAt);
}

function pastAttempt({ kind, message, waitMs }: FailedAttempt): string {
  return `↻ ${kind}: ${printable(message)}${waitMs === undefined ? '' : ` (then waited ${duration(waitMs)})`}`;
}

/** A whole line, on a line of its own. */
function line(state: ViewState, text: string): string {
  const before = state.atLineStart ? '' : '\n';
  state.atLineStart = true;
  return `${before}${text}\n`;
}

function restarted(state: ViewState, messageId: string, attempt: number): string {
  const { text = '' } = state.texts.get(messageId) ?? {};
  state.texts.set(messageId, { attempt, text: '' });
  return text === '' ? '' : line(state, state.options.paint.yellow(`↻ lost in the middle; the model begins again (attempt ${attempt})`));
}

function add(state: ViewState, messageId: string, attempt: number, chunk: string): string {
  const entry = state.texts.get(messageId) ?? { attempt, text: '' };
  // What comes late of an attempt that was given up is void.
  if (attempt < entry.attempt || chunk === '') return '';
  state.texts.set(messageId, { attempt, text: entry.text + chunk });
  const safe = printable(chunk);
  if (safe !== '') state.atLineStart = safe.endsWith('\n');
  return safe;
}

/** Prints what is new in a text, given all of it or its newest end. */
function upTo(state: ViewState, messageId: string, attempt: number, all: string): string {
  const entry = state.texts.get(messageId);
  if (entry && attempt < entry.attempt) return '';
  const begun = entry && attempt > entry.attempt ? restarted(state, messageId, attempt) : '';
  const before = begun ? '' : (entry?.text ?? '');
  if (all.startsWith(before)) return begun + add(state, messageId, attempt, all.slice(before.length));
  // A long text is snapshot by its end only: what is on the screen must be found in it.
  const known = before.slice(-200);
  const at = all.lastIndexOf(known);
  if (at !== -1) return add(state, messageId, attempt, all.slice(at + known.length));
  const gap = line(state, state.options.paint.dim('…'));
  return gap + add(state, messageId, attempt, all);
}

/** Whether a run rests on someone outside, and on whom. */
export function restsOn(event: AgentEvent): PendingCall[] | undefined {
  return event.type === 'thread.run.requires_action' ? (event as DurableEvent<'thread.run.requires_action'>).data.pending : undefined;
}
