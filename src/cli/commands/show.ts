import type { LonghaulClient } from '../../client';
import type { AgentFacts } from '../../core/agent';
import type { PendingCall } from '../../core/event';
import { excerpt } from '../../core/json';
import { type Message, refusalOf, textOf, toolCallsOf } from '../../core/message';
import { questionParts, rememberParts, whomWords } from '../views/render-people';
import { auditLines, dollars, leftWords, spentLines } from '../views/show-audit';
import { nowLines, stepLines } from '../views/show-now';
import { type Part, paint, Styled, styled } from '../views/styled';
import { note, print, printJson } from '../views/terminal';
import { bytes, count, shortArguments, usageWords } from '../views/words';
import { answerHint, commandLine } from './answer-hint';
import { withClient } from './connect';
import { webUiOf } from './dev-lock';
import { type Look, look } from './look';

/** Prints the state of a thread. If no worker is running, the parts that need one are left out, with a note. */
export async function show(threadId: string, { json }: { json?: boolean }): Promise<void> {
  await withClient({}, async (client) => {
    const thread = client.attach(threadId);
    const found = await look(client, thread);
    if (json) printJson(found);
    else print(styled`${Styled.join(pageOf(found, process.stdout.columns, webUiHere(client)), styled`\n`)}\n`);
    if (found.note) note(paint.yellow(found.note));
  });
}

/** A server does not report the URL of its Web UI, but a `longhaul dev` that runs in this folder has recorded it. */
function webUiHere({ temporal }: LonghaulClient): string | undefined {
  const { address } = (temporal.connection as { options?: { address?: string } }).options ?? {};
  return address && webUiOf(address.replace('localhost', '127.0.0.1'));
}

/** The page. Text to be copied is not wrapped; everything else is wrapped to the terminal. */
function pageOf(found: Look, columns: number | undefined, webUiAt = '<its address>'): Part[] {
  const { threadId, execution, taskQueue, startedAt, closedAt, history, webUi, index, status, usage, audit, messages = [] } = found;
  const named = (name: string, value: Part) => styled`${paint.dim(Styled.line(name).padEnd(10))} ${value}`;
  const row = (name: string, value: Part) => named(name, value).fit(columns);
  const lines: Part[] = [
    row('thread', paint.bold(threadId)),
    row(
      'status',
      styled`${status?.closed && status.status === 'idle' ? 'closed' : (status?.status ?? index.status ?? '?')} ${paint.dim(`(workflow ${execution.toLowerCase()})`)}`,
    ),
  ];
  lines.push(row('agent', status ? `${status.agent} · ${status.model ?? 'model not known yet'} · ${status.mode}` : index.agent));
  if (status?.facts?.sandbox) lines.push(row('commands', sandboxWords(status.facts.sandbox)));
  const { agentWanted: wanted } = found;
  if (wanted)
    lines.push(
      row('waits', paint.yellow(`for a worker that has the agent. ${wanted.lastAnswer} (${wanted.step}, attempt ${wanted.attempt})`)),
    );
  if (!status && index.waitsFor) lines.push(row('waits', paint.yellow(`for someone outside: ${index.waitsFor}, since ${index.since}`)));
  for (const line of [...nowLines(found.calls ?? [], found.at), ...stepLines(found.steps, found.calls, found.at)])
    lines.push(row('now', line));
  if (status?.paused) lines.push(row('paused', `${status.paused.by ? `by ${status.paused.by}: ` : ''}${status.paused.reason}`));
  if (usage) {
    const cost = usage.costUsd > 0 ? ` · ${dollars(usage.costUsd)}` : '';
    lines.push(
      row('so far', `${count(usage.runs, 'run')} · ${count(usage.spent.thread.turns, 'turn')} · ${usageWords(usage.thread)}${cost}`),
    );
    // The next run begins with all of its limits.
    const left = leftWords(status?.status === 'idle' ? { ...usage.remaining, run: {} } : usage.remaining);
    if (left !== '') lines.push(row('left', left));
  }
  if (status && status.contextLeftPercent !== null) lines.push(row('context', `${status.contextLeftPercent} % left`));
  if (status?.loadedTools) lines.push(row('found', `${count(status.loadedTools.length, 'tool')}: ${status.loadedTools.join(', ')}`));
  lines.push(row('started', startedAt), ...(closedAt ? [row('closed', closedAt)] : []), row('queue', taskQueue));
  lines.push(row('history', `${bytes(history.bytes)} in ${count(history.events, 'event')}`), named('web ui', `${webUiAt}${webUi}`));
  for (const { name, toolCallId, status: how, error } of status?.compensations ?? []) {
    lines.push(
      row('undone', styled`${name} ${paint.dim(`(${toolCallId})`)}: ${error === undefined ? how : paint.red(`${how}: ${error}`)}`),
    );
  }
  if (status?.plan) lines.push('', ...planLines(status.plan).map((line) => line.fit(columns)));
  for (const call of status?.pending ?? []) lines.push('', ...waitsLines(threadId, call, columns));
  for (const part of [usage && audit ? spentLines(usage, audit) : [], audit ? auditLines(audit) : [], summaryOf(messages)]) {
    if (part.length > 0) lines.push('', ...part.map((line) => line.fit(columns)));
  }
  return lines;
}

function sandboxWords({ state, network }: NonNullable<AgentFacts['sandbox']>): Part {
  if (state === 'used') return `in a sandbox, ${network ? 'with' : 'without'} network`;
  return paint.yellow(state === 'missing' ? 'none run: there is no sandbox' : 'without a sandbox');
}

function planLines(plan: string): Styled[] {
  return [paint.bold('plan'), ...plan.split('\n').map((line) => styled`  ${line}`)];
}

/** The room for one call: as much as a person can read. Longer text is usually a file's content. */
const callRoom = { lines: 200, chars: 20_000 };

export function waitsLines(threadId: string, call: PendingCall, columns: number | undefined): Styled[] {
  const whom = whomWords(call);
  const what = call.kind === 'question' ? '' : paint.bold(call.name);
  const all = commandLine('show', [threadId], { options: ' --json' });
  return [
    styled`${paint.yellow(waitsFor[call.kind])} ${what}${whom && paint.dim(styled`  (${whom})`)}`.fit(columns),
    ...[...questionParts(call, all, callRoom), ...rememberParts(call)].map((part) => styled`  ${part}`.fit(columns)),
    styled`  ${paint.dim(answerHint(threadId)(call))}`,
  ];
}

const waitsFor: Record<PendingCall['kind'], string> = {
  approval: 'needs an approval:',
  output: 'waits for an output from outside:',
  question: 'waits for an answer:',
  'tool-question': 'asks a person:',
  outcome: 'has an unknown outcome:',
  limit: 'waits for a higher limit',
  reply: 'waits for a',
};

/** The first message and the newest ones. */
function summaryOf(messages: readonly Message[]): Styled[] {
  const newest = 8;
  const skipped = messages.length - newest - 1;
  if (skipped < 1) return messages.map(messageLine);
  return [
    ...messages.slice(0, 1).map(messageLine),
    paint.dim(`… ${count(skipped, 'message')} more`),
    ...messages.slice(-newest).map(messageLine),
  ];
}

function messageLine(message: Message): Styled {
  const text = excerpt(textOf(message.content).trim(), 140);
  if (message.role === 'user') return styled`${message.origin ? paint.dim(message.origin) : paint.cyan('you')}    ${text}`;
  if (message.role === 'tool') return styled`${message.isError ? paint.red('✗') : paint.green('✓')} ${message.name}  ${paint.dim(text)}`;
  const calls = toolCallsOf(message.content).map((call) =>
    Styled.join([styled`▸ ${paint.bold(call.name)}`, ...[shortArguments(call.arguments, 60)].filter(Boolean)], ' '),
  );
  const said = text || refusalOf(message.content);
  return styled`${paint.bold('agent')}  ${Styled.join([...(said ? [said] : []), ...calls], '  ')}`;
}
