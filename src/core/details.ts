import { bounds } from './bounds';
import type { PendingCall } from './event';
import { excerpt } from './json';
import { type Content, textOf } from './message';
import { limitsOf } from './spent';
import { activeRun, inForce, type ThreadState } from './state';
import { shortBytes } from './text';
import { pendingCalls, threadStatus } from './views';

/**
 * The thread as a page of Markdown, for the Web UI. It shows about six lines before it folds, so what a person can act on comes first.
 */
export function details(state: ThreadState): string {
  const status = threadStatus(state);
  const run = state.run;
  const pending = pendingCalls(state);
  const lines: string[] = [`**${headline[status]}**${run ? ` · turn ${run.turn} of ${limitsOf(state).run.turns}` : ''} · ${model(state)}`];
  if (state.paused)
    lines.push(
      '',
      `Paused${state.paused.by ? ` by ${plain(state.paused.by)}` : ''}: ${plain(state.paused.reason)}. Send the signal \`resume\``,
    );
  for (const call of pending.slice(0, mostShown)) {
    lines.push(
      '',
      `${call.kind === 'reply' ? 'A' : `\`${call.name}\``} ${waitsFor[call.kind]}${call.reason ? `: ${plain(call.reason)}` : ''}${whom(call)}`,
      '',
    );
    if (call.arguments !== '') lines.push(code(call.arguments), '');
    lines.push(answerHint(call));
  }
  if (run?.status === 'queued')
    lines.push('', `No worker that was asked has the agent \`${plain(state.agent)}\`; waiting for one that has`);
  if (pending.length > mostShown) lines.push('', `and ${pending.length - mostShown} more`);
  const running = (activeRun(state)?.calls ?? []).filter((call) => call.phase === 'running').map((call) => `\`${call.name}\``);
  if (running.length > 0) lines.push('', `Running ${excerpt(running.join(', '), 1_000)}`);
  if (run?.shell) lines.push('', 'The model is writing');
  const said = state.messages.findLast((m) => m.role === 'assistant' && m.content !== '');
  if (said) lines.push('', `Last words: ${plain(excerpt(textOf(said.content), 300))}`);
  lines.push('', `| task | ${plain(excerpt(firstInput(state), 200))} |`, '| --- | --- |');
  if (run) lines.push(`| run | ${run.number} (\`${run.id}\`) |`);
  const { inputTokens, cachedInputTokens, outputTokens } = state.usage;
  const cost = state.before.costUsd + (run?.costUsd ?? 0);
  if (cost > 0) lines.push(`| cost | ${cost.toFixed(4)} USD |`);
  lines.push(
    `| tokens | ${inputTokens} in (${cachedInputTokens} cached), ${outputTokens} out |`,
    `| messages | ${state.messages.length}, ${state.queue.length} queued |`,
  );
  return shortBytes(lines.join('\n'), bounds.detailsBytes);
}

/** Calls that are shown in full; each is some lines. */
const mostShown = 5;

const headline = {
  queued: 'Starting',
  in_progress: 'Working',
  requires_action: 'Waiting for a person',
  paused: 'Paused',
  suspended: 'Waiting for a reply',
  cancelling: 'Cancelling',
  completed: 'Completed',
  failed: 'Failed',
  incomplete: 'Stopped at a limit',
  cancelled: 'Cancelled',
  expired: 'Expired',
  idle: 'Waiting for the next message',
} as const;

function model(state: ThreadState): string {
  return `agent ${state.agent} · ${inForce(state).model ?? 'model not known yet'}`;
}

const waitsFor: Record<PendingCall['kind'], string> = {
  approval: 'waits for an **approval**',
  output: 'waits for its **output**',
  question: 'waits for an **answer**',
  limit: 'is at its limit: **more of it?**',
  reply: '**reply** is waited for',
};

/** Who is asked, how many have agreed, and until when. */
function whom({ users = [], groups = [], approvers = 1, votes = [], dueAt }: PendingCall): string {
  const who = [...users, ...groups.map((group) => `group ${group}`)].map(plain).join(', ');
  return [
    who && ` · for ${excerpt(who, 300)}`,
    approvers > 1 ? ` · ${votes.length} of ${approvers} agreed` : '',
    dueAt ? ` · until ${dueAt.slice(0, 16).replace('T', ' ')} UTC` : '',
  ].join('');
}

/** As it is taken: who it is for has to say so. */
function answerHint({ kind, toolCallId: id, users, groups }: PendingCall): string {
  if (kind === 'reply') return `Send the signal \`sendMessage\` with \`{"input":"…","correlationId":"${id}"}\``;
  const inGroups = groups ? `,"groups":${JSON.stringify(groups.slice(0, 1))}` : '';
  return kind === 'approval' || kind === 'limit'
    ? `Send the signal \`approve\` with \`{"toolCallId":"${id}","by":"you"${inGroups}}\`, and \`"approved":false\` to refuse`
    : `Send the signal \`submitToolOutputs\` with \`{"outputs":[{"toolCallId":"${id}","output":"…"}]${users || groups ? `,"by":"you"${inGroups}` : ''}}\``;
}

function firstInput(state: ThreadState): string {
  const content: Content | undefined = (state.messages.find((m) => m.role === 'user') ?? state.queue[0])?.content;
  return content === undefined ? '' : textOf(content) || '(image)';
}

function plain(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/[|`*_<>[\]]/g, (c) => `\\${c}`);
}

function code(text: string): string {
  return `\`\`\`\n${excerpt(text, 1_500).replaceAll('```', "'''")}\n\`\`\``;
}
