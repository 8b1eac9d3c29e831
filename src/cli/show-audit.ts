import pc from 'picocolors';
import type { Audit, AuditEntry, AuditFact } from '../client';
import type { UsageView } from '../contract/thread';
import type { LimitName, Limits } from '../core/agent';
import { limitWords } from '../core/decide';
import { excerpt } from '../core/json';
import { rulesWords } from './render-people';
import { count, duration, printable, shortArguments, tokens, usageWords } from './words';

/** What it cost and where the time went, by model, tool and hook. */
export function spentLines({ metrics }: UsageView): string[] {
  const { models, tools, hooks, approvals } = metrics;
  const lines = [
    ...Object.entries(models).map(([name, { calls, usage, costUsd: usd, durationMs, retries, waitedMs }]) =>
      facts(name, [
        count(calls, 'call'),
        usageWords(usage),
        usd > 0 ? dollars(usd) : '',
        duration(durationMs),
        retries > 0 ? `${count(retries, 'retry', 'retries')}, ${duration(waitedMs)} waited` : '',
      ]),
    ),
    ...Object.entries(tools).map(([name, { calls, failed, timedOut, durationMs }]) =>
      facts(name, [
        count(calls, 'call'),
        failed > 0 ? `${failed} failed${timedOut > 0 ? ` (${timedOut} timed out)` : ''}` : '',
        duration(durationMs),
      ]),
    ),
    ...Object.entries(hooks).map(([name, { calls, errors, durationMs }]) =>
      facts(name, [count(calls, 'call'), errors > 0 ? `${errors} failed` : '', duration(durationMs)]),
    ),
  ];
  const { approved, refused, waitedMs } = approvals;
  if (approved + refused > 0)
    lines.push(facts('people', [`${approved} approved`, `${refused} refused`, `${duration(waitedMs)} waited for`]));
  return lines;
}

function facts(name: string, values: readonly string[]): string {
  return `${printable(name)} ${pc.dim(`· ${values.filter(Boolean).join(' · ')}`)}`;
}

export function dollars(usd: number): string {
  return `${usd < 0.01 ? usd.toFixed(6).replace(/0+$/, '') : usd.toFixed(2)} USD`;
}

/** What is left of each limit, of the run and of the thread. */
export function leftWords({ run, thread }: { run: Limits; thread: Limits }): string {
  return [...leftOf(run, 'run'), ...leftOf(thread, 'thread')].join(' · ');
}

function leftOf(limits: Limits, scope: string): string[] {
  return Object.entries(limits).map(([name, left]) => `${amount(name as LimitName, left)}${scope === 'thread' ? ' of the thread' : ''}`);
}

function amount(name: LimitName, left: number): string {
  const words: Record<LimitName, () => string> = {
    turns: () => count(left, 'turn'),
    toolRounds: () => count(left, 'round of tools', 'rounds of tools'),
    toolCalls: () => count(left, 'tool call'),
    tokens: () => `${tokens(left)} tokens`,
    costUsd: () => dollars(left),
    wallClockMs: () => `${duration(left)} of work`,
    contextTokens: () => `${tokens(left)} tokens of context`,
  };
  return words[name]();
}

const most = 40;

/** What was decided, retried and went wrong; not each call that went well. */
export function auditLines({ entries, truncated }: Audit): string[] {
  const told = entries.flatMap((entry) => linesOf(entry).map((line) => `${pc.dim(entry.at.slice(0, 19).replace('T', ' '))} ${line}`));
  const lines = told.slice(-most);
  const older = told.length > most || truncated;
  return older ? [pc.dim('… more of it before, with --json'), ...lines] : lines;
}

function linesOf(entry: AuditEntry): string[] {
  if (entry.kind === 'model') {
    return (entry.retries ?? []).map(({ kind, message, waitMs }) => {
      const waited = waitMs === undefined ? '' : `, then waited ${duration(waitMs)}`;
      return `${pc.yellow('retry')} ${entry.model}: ${kind}: ${words(message)}${waited}`;
    });
  }
  const line = lineOf(entry);
  return line ? [line] : [];
}

function lineOf(fact: Exclude<AuditFact, { kind: 'model' }>): string | undefined {
  switch (fact.kind) {
    case 'tool':
      return toolLine(fact);
    case 'hook':
      return hookLine(fact);
    case 'asked':
      return `asked about ${pc.bold(fact.name)}${because(fact.reason)}`;
    case 'voted':
      return `${pc.green('agreed')} to ${pc.bold(fact.name)}${by(fact.by)}${because(fact.reason)}; ${fact.outstanding} more must`;
    case 'escalated':
      return `nobody answered for ${pc.bold(fact.name)}; ${fact.groups ? `group ${printable(fact.groups.join(', '))} is asked` : 'asked again'}`;
    case 'decided':
      return decidedLine(fact);
    case 'unanswered':
      return `nobody answered ${pc.bold(fact.name)} in time`;
    case 'limit-reached':
      return limitWords(fact);
    case 'limit-handed-out':
      return `${limitWords(fact)} ${count(fact.toolCallIds.length, 'call')} handed out`;
    case 'limit-extended':
      return `${pc.green('granted')}${by(fact.by)}${because(fact.reason)}: the limit of ${fact.limit} became ${fact.max}`;
    case 'paused':
      return `paused${by(fact.by)}: ${words(fact.reason)}`;
    case 'resumed':
      return `resumed${by(fact.by)}${because(fact.reason)}`;
    case 'suspended':
      return `suspended until a reply to "${words(fact.correlationId)}"`;
    case 'request-rejected':
      // A reason mostly begins with the request's name.
      return `${pc.yellow('not followed')} ${printable(fact.request)}: ${words(fact.reason.replace(`${fact.request}: `, ''))}`;
    case 'message-superseded':
      return `${pc.yellow('message not taken in')}: ${words(fact.reason)}`;
    case 'ended':
      return `the run ended: ${fact.status}${fact.code ? ` (${fact.code})` : ''}${by(fact.by)}${because(fact.message)}`;
  }
}

function hookLine({ hook, ignored, errors }: Extract<AuditFact, { kind: 'hook' }>): string | undefined {
  const failed = errors && `${pc.red('hook failed')} ${hook}: ${errors.map(({ id, message }) => `${id}: ${words(message)}`).join('; ')}`;
  return [failed, ignored && `hook ${hook} is not followed: ${words(ignored)}`].filter(Boolean).join('; ') || undefined;
}

function toolLine({ name, status, error, by: who }: Extract<AuditFact, { kind: 'tool' }>): string | undefined {
  if (status !== 'success') return `${pc.red(status)} ${name}${by(who)}${error ? `: ${words(error)}` : ''}`;
  return who && `${pc.green('answered')} ${pc.bold(name)}${by(who)}`;
}

function decidedLine({
  name,
  approved,
  by: who,
  reason,
  source,
  editedArguments,
  remembered,
  stop,
  waitedMs,
}: Extract<AuditFact, { kind: 'decided' }>): string {
  return [
    `${approved ? pc.green('approved') : pc.red('refused')} ${pc.bold(name)}`,
    source === 'deadline' ? ' by its deadline' : source === 'hook' ? ' by a hook' : by(who),
    because(reason),
    waitedMs === undefined ? '' : pc.dim(` (after ${duration(waitedMs)})`),
    editedArguments === undefined ? '' : `; with ${shortArguments(editedArguments, 80)}`,
    remembered ? `; from then on: ${rulesWords(remembered)}` : '',
    stop ? '; the run was to end' : '',
  ].join('');
}

function by(who: string | undefined): string {
  return who ? ` by ${printable(who)}` : '';
}

function because(reason: string | undefined): string {
  return reason ? `: ${words(reason)}` : '';
}

function words(text: string): string {
  return excerpt(printable(text).replace(/\s+/g, ' ').trim(), 200);
}
