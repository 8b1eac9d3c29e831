import { limitsOf } from './decide';
import { excerpt } from './json';
import { type Content, textOf } from './message';
import { activeRun, type ThreadState } from './state';
import { pendingCalls, threadStatus } from './views';

/**
 * The thread as a page of Markdown, for the Web UI. It shows about six lines before it folds, so what a person can act on comes first.
 */
export function details(state: ThreadState): string {
  const status = threadStatus(state);
  const run = state.run;
  const pending = pendingCalls(state);
  const lines: string[] = [`**${headline[status]}**${run ? ` · turn ${run.turn} of ${limitsOf(state).turns}` : ''} · ${model(state)}`];
  for (const call of pending) {
    const ask = call.kind === 'approval' ? 'waits for an **approval**' : 'waits for its **output**';
    lines.push(
      '',
      `\`${call.name}\` ${ask}${call.reason ? `: ${plain(call.reason)}` : ''}`,
      '',
      code(call.arguments),
      '',
      answerHint(call.kind, call.toolCallId),
    );
  }
  const running = (activeRun(state)?.calls ?? []).filter((call) => call.phase === 'running').map((call) => `\`${call.name}\``);
  if (running.length > 0) lines.push('', `Running ${running.join(', ')}`);
  if (run?.shell) lines.push('', 'The model is writing');
  const said = state.messages.findLast((m) => m.role === 'assistant' && m.content !== '');
  if (said) lines.push('', `Last words: ${plain(excerpt(textOf(said.content), 300))}`);
  lines.push('', `| task | ${plain(excerpt(firstInput(state), 200))} |`, '| --- | --- |');
  if (run) lines.push(`| run | ${run.number} (\`${run.id}\`) |`);
  const { inputTokens, cachedInputTokens, outputTokens } = state.usage;
  lines.push(
    `| tokens | ${inputTokens} in (${cachedInputTokens} cached), ${outputTokens} out |`,
    `| messages | ${state.messages.length}, ${state.queue.length} queued |`,
  );
  return lines.join('\n');
}

const headline = {
  queued: 'Starting',
  in_progress: 'Working',
  requires_action: 'Waiting for a person',
  cancelling: 'Cancelling',
  completed: 'Completed',
  failed: 'Failed',
  incomplete: 'Stopped at a limit',
  cancelled: 'Cancelled',
  expired: 'Expired',
  idle: 'Waiting for the next message',
} as const;

function model(state: ThreadState): string {
  return `agent ${state.agent} · ${state.overrides.model ?? state.facts?.model ?? 'model not known yet'}`;
}

function answerHint(kind: 'approval' | 'output', id: string): string {
  return kind === 'approval'
    ? `Send the signal \`approve\` with \`{"toolCallId":"${id}","by":"you"}\`, and \`"approved":false\` to refuse`
    : `Send the signal \`submitToolOutputs\` with \`{"outputs":[{"toolCallId":"${id}","output":"…"}]}\``;
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
