import { argumentLines, type Room } from './argument-lines';
import { bounds } from './bounds';
import { contextLeft } from './context/view';
import { type PendingCall, pendingKinds } from './event';
import { excerpt } from './json';
import { Markdown, markdown } from './markdown';
import { type Content, textOf } from './message';
import { questionLines } from './question-lines';
import { exampleContent } from './questions';
import { compensationsOf } from './sagas';
import { limitsOf } from './spent';
import { activeRun, inForce, type ThreadState } from './state';
import { jsonBytes } from './text';
import { unreachable } from './unreachable';
import { pendingCalls, threadStatus } from './views';

/**
 * Returns the thread as a page of Markdown for the Web UI. The UI shows about six lines before it folds, so what people can act on comes first.
 */
export function details(state: ThreadState): string {
  // Some scripts take three bytes per character, and more if escaped. Then less of the arguments is shown.
  for (const chars of argumentChars) {
    const page = Markdown.join(blocksOf(state, chars), between).toString();
    if (hasRoom(page)) return page;
  }
  return whole(blocksOf(state, 0));
}

/** Returns a thread's task as a code block, which can be copied. */
export function taskDetails(task: string): string {
  const cut = (chars: number) => [Markdown.block(excerpt(task, chars))];
  return whole(cut([4_000, 1_000].find((chars) => hasRoom(Markdown.join(cut(chars), between).toString())) ?? 300));
}

function blocksOf(state: ThreadState, chars: number): Markdown[] {
  const run = state.run;
  const pending = pendingCalls(state);
  const shown = pending.slice(0, mostShown);
  const room = { chars: Math.floor(chars / Math.max(1, shown.length)), lines: Math.floor(argumentRows / Math.max(1, shown.length)) };
  return [
    headline(state),
    ...(state.paused ? [pausedWords(state.paused)] : []),
    ...shown.flatMap((call) => waiting(state, call, room)),
    ...(pending.length > mostShown ? [markdown`and ${pending.length - mostShown} more`] : []),
    ...(run?.status === 'queued' ? [markdown`No worker so far has the agent ${Markdown.code(state.agent)}; waiting for one that has`] : []),
    ...running(state),
    ...(run?.draft ? [markdown`The model is writing`] : []),
    ...lastWords(state),
    ...(state.plan === undefined ? [] : [markdown`Plan:`, Markdown.block(excerpt(state.plan, Math.max(200, Math.min(2_000, chars))))]),
    markdown`Task:`,
    Markdown.block(excerpt(firstInput(state), Math.max(200, Math.min(1_000, chars)))),
    facts(state),
  ];
}

function hasRoom(page: string): boolean {
  // A character has at most six bytes. Counting them exactly takes longer than making the page.
  return page.length * 6 <= bounds.detailsBytes || jsonBytes(page) <= bounds.detailsBytes;
}

/** Returns as many blocks as fit. Blocks are never cut inside, because a cut could change their markup. */
function whole(blocks: Markdown[]): string {
  const last = markdown`… and more that does not fit on this page`;
  let end = blocks.length;
  const page = () => Markdown.join(end < blocks.length ? [...blocks.slice(0, end), last] : blocks, between).toString();
  while (end > 0 && !hasRoom(page())) end -= 1;
  return page();
}

const between = '\n\n';

function headline(state: ThreadState): Markdown {
  const { run } = state;
  const turn = run ? markdown` · turn ${run.turn} of ${limitsOf(state).run.turns ?? '?'}` : '';
  const model = inForce(state).model ?? 'model not known yet';
  return markdown`${statusWords[threadStatus(state)]}${turn} · agent ${state.agent} · ${model}`;
}

function pausedWords({ by, reason }: { by?: string; reason: string }): Markdown {
  return markdown`Paused${by ? ` by ${by}` : ''}: ${excerpt(reason, 1_000)}. Send the signal \`resume\``;
}

/** Shows a pending call: what it waits for, its arguments, and how to answer. */
function waiting({ threadId }: ThreadState, call: PendingCall, room: Room): Markdown[] {
  const { kind, name, reason } = call;
  const what = kind === 'reply' ? markdown`A` : Markdown.code(name);
  const { lines, left } = argumentLines(call.arguments, room);
  return [
    markdown`${what} ${waitsFor[kind]}${reason ? `: ${excerpt(reason, 1_000)}` : ''}${whom(call)}`,
    ...(call.question ? [Markdown.block(questionLines(call.question).join('\n'))] : []),
    ...(lines.length > 0 ? [Markdown.block(lines.join('\n'))] : []),
    ...(left > 0
      ? [markdown`${left} characters of it are not shown here; ${Markdown.code(`longhaul show ${threadId} --json`)} has them`]
      : []),
    answerHint(call),
  ];
}

function running(state: ThreadState): Markdown[] {
  const names = (activeRun(state)?.calls ?? []).filter(({ phase }) => phase === 'running').map(({ name }) => name);
  if (names.length === 0) return [];
  const more = names.length > mostNamed ? ` and ${names.length - mostNamed} more` : '';
  return [markdown`Running ${Markdown.join(names.slice(0, mostNamed).map(Markdown.code), ', ')}${more}`];
}

function lastWords({ messages }: ThreadState): Markdown[] {
  const said = messages.findLast((m) => m.role === 'assistant' && textOf(m.content) !== '');
  return said ? [markdown`Last words: ${excerpt(textOf(said.content), 300)}`] : [];
}

function facts(state: ThreadState): Markdown {
  const { run, usage, messages, queue } = state;
  const { inputTokens, cachedInputTokens, outputTokens } = usage;
  const left = contextLeft(state);
  const cost = state.before.costUsd + (run?.costUsd ?? 0);
  const compensations = compensationsOf(run) ?? [];
  const undone = compensations.filter(({ status }) => status === 'completed').length;
  const broken = compensations.filter(({ status }) => status === 'failed').map(({ name }) => Markdown.code(name));
  const rows = [
    ...(run ? [markdown`- run: ${run.number} (${Markdown.code(run.id)})`] : []),
    ...(cost > 0 ? [markdown`- cost: ${cost.toFixed(4)} USD`] : []),
    markdown`- tokens: ${inputTokens} in (${cachedInputTokens} cached), ${outputTokens} out`,
    ...(compensations.length > 0 ? [markdown`- compensated: ${undone} of ${compensations.length} calls`] : []),
    ...(broken.length > 0 ? [markdown`- **not compensated**: ${Markdown.join(broken.slice(0, mostNamed), ', ')}`] : []),
    markdown`- messages: ${messages.length}, ${queue.length} queued`,
    ...(left === null ? [] : [markdown`- context left: ${left} %`]),
  ];
  return Markdown.join(rows, '\n');
}

/** Number of pending calls shown in full, each with several lines. */
const mostShown = 5;
const mostNamed = 20;
/** Room for the arguments of all pending calls together, tried in order until the page fits. */
const argumentChars = [8_000, 2_000, 500];
const argumentRows = 200;

const statusWords = {
  queued: markdown`**Starting**`,
  in_progress: markdown`**Working**`,
  requires_action: markdown`**Waiting for a person**`,
  paused: markdown`**Paused**`,
  suspended: markdown`**Waiting for a reply**`,
  cancelling: markdown`**Cancelling**`,
  completed: markdown`**Completed**`,
  failed: markdown`**Failed**`,
  incomplete: markdown`**Stopped at a limit**`,
  cancelled: markdown`**Cancelled**`,
  expired: markdown`**Expired**`,
  idle: markdown`**Waiting for the next message**`,
};

const waitsFor: Record<PendingCall['kind'], Markdown> = {
  approval: markdown`waits for an **approval**`,
  output: markdown`waits for its **output**`,
  question: markdown`waits for an **answer**`,
  'tool-question': markdown`asks a person a **question**`,
  outcome: markdown`has an unknown **outcome**, to be settled`,
  limit: markdown`is at its limit: **more of it?**`,
  reply: markdown`**reply** is waited for`,
};

/** Says who is asked, how many have approved, and until when. */
function whom({ users = [], groups = [], approvers = 1, votes = [], dueAt }: PendingCall): string {
  const who = [...users, ...groups.map((group) => `group ${group}`)].join(', ');
  return [
    who && ` · for ${excerpt(who, 300)}`,
    approvers > 1 ? ` · ${votes.length} of ${approvers} agreed` : '',
    dueAt ? ` · until ${dueAt.slice(0, 16).replace('T', ' ')} UTC` : '',
  ].join('');
}

/** Shows the exact signal that answers. It contains the fields for who decides, and the digest, so that a decision applies to what is shown. */
function answerHint(call: PendingCall): Markdown {
  const { toolCallId, users, groups, digest, question } = call;
  const json = (value: object) => Markdown.code(JSON.stringify(value));
  const who = { by: 'you', ...(groups && { groups: groups.slice(0, 1) }) };
  const whoIfAsked = (users || groups) && who;
  const { answeredBy } = pendingKinds[call.kind];
  switch (answeredBy) {
    case 'sendMessage':
      return markdown`Send the signal \`sendMessage\` with ${json({ input: '…', correlationId: toolCallId })}`;
    case 'settle': {
      const failed = json({ toolCallId, ...who, outcome: 'failed', reason: '…' });
      return markdown`Send the signal \`settle\` with ${json({ toolCallId, ...who, outcome: 'done', output: '…' })}, or ${failed}, or \`"outcome":"not-done"\` to let it run again`;
    }
    case 'answerQuestion': {
      const content = question?.schema && { content: exampleContent(question.schema) };
      return markdown`Send the signal \`answerQuestion\` with ${json({ toolCallId, ...whoIfAsked, questionId: question?.id, ...content })}, or \`"action":"decline"\` or \`"cancel"\``;
    }
    case 'approve':
      return markdown`Send the signal \`approve\` with ${json({ toolCallId, ...who, ...(digest && { expect: digest }) })}, and \`"approved":false\` to refuse`;
    case 'submitToolOutputs':
      return markdown`Send the signal \`submitToolOutputs\` with ${json({ outputs: [{ toolCallId, output: '…' }], ...whoIfAsked })}`;
    default:
      return unreachable(answeredBy);
  }
}

function firstInput(state: ThreadState): string {
  const content: Content | undefined = (state.messages.find((m) => m.role === 'user') ?? state.queue[0])?.content;
  return content === undefined ? '' : textOf(content) || '(no text)';
}
