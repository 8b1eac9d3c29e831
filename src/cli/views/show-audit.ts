import type { Audit, AuditEntry, AuditFact } from '../../client';
import type { UsageView } from '../../contract/thread';
import type { LimitName, Limits } from '../../core/agent';
import { limitWords } from '../../core/decide';
import { excerpt } from '../../core/json';
import { unreachable } from '../../core/unreachable';
import { unknownWords } from '../../core/views';
import { rulesWords } from './render-people';
import { paint, Styled, styled } from './styled';
import { count, duration, shortArguments, shortFields, tokens, usageWords, wasteWords } from './words';

/** Cost and time by model, tool and hook. */
export function spentLines({ metrics }: UsageView, audit: Audit): Styled[] {
  const { models, tools, hooks } = metrics;
  const retried = toolRetries(audit);
  const lines = [
    ...Object.entries(models).map(([name, { calls, usage, costUsd: usd, durationMs, retries, waitedMs }]) =>
      facts(name, [
        count(calls, 'call'),
        usageWords(usage),
        usd > 0 ? dollars(usd) : '',
        duration(durationMs),
        retries > 0 ? `${retriesWords(retries)}, ${duration(waitedMs)} waited` : '',
      ]),
    ),
    ...Object.entries(tools).map(([name, { calls, failed, timedOut, durationMs }]) =>
      facts(name, [
        count(calls, 'call'),
        failed > 0 ? `${failed} failed${timedOut > 0 ? ` (${timedOut} timed out)` : ''}` : '',
        // The time of attempts that were lost is not known.
        durationMs > 0 || isTimed(name, audit) ? duration(durationMs) : '',
        retriesWords(retried.get(name)),
      ]),
    ),
    ...Object.entries(hooks).map(([name, { calls, errors, durationMs }]) =>
      facts(name, [count(calls, 'call'), errors > 0 ? `${errors} failed` : '', duration(durationMs)]),
    ),
  ];
  const people = peopleFacts(metrics.approvals, audit);
  return people.length > 0 ? [...lines, facts('people', people)] : lines;
}

/** What people did, and how long the thread waited for them. Answers and settlements are left out if older ones are missing. */
function peopleFacts({ approved, refused, waitedMs }: UsageView['metrics']['approvals'], { entries, truncated }: Audit): string[] {
  const settled = settledCalls(entries);
  const acts = truncated ? [] : entries.filter((entry) => entry.kind === 'settled' || isAnswer(entry, settled));
  const settlements = acts.filter(({ kind }) => kind === 'settled').length;
  const answers = acts.length - settlements;
  if (approved + refused + acts.length === 0) return [];
  const waited = acts.reduce((sum, entry) => sum + (('waitedMs' in entry && entry.waitedMs) || 0), waitedMs);
  return [
    ...(approved + refused > 0 ? [`${approved} approved`, `${refused} rejected`] : []),
    answers > 0 ? `${answers} answered` : '',
    settlements > 0 ? `${settlements} settled` : '',
    `${duration(waited)} waited for`,
  ];
}

function isAnswer(entry: AuditEntry, settled: ReadonlySet<string>): boolean {
  if (entry.kind === 'question-answered') return entry.source === undefined;
  return entry.kind === 'tool' && entry.by !== undefined && !settled.has(entry.toolCallId);
}

/** The calls whose outcome a person settled: their outcome has the person's name, too, and is the same act. */
function settledCalls(entries: readonly AuditEntry[]): Set<string> {
  return new Set(entries.flatMap((entry) => (entry.kind === 'settled' && entry.outcome !== 'not-done' ? [entry.toolCallId] : [])));
}

function isTimed(tool: string, { entries, truncated }: Audit): boolean {
  return truncated || entries.some((entry) => entry.kind === 'tool' && entry.name === tool && entry.durationMs !== undefined);
}

/** Retries by tool. Empty if older calls are missing, because the numbers would then be too small. */
function toolRetries({ entries, truncated }: Audit): Map<string, number> {
  const retried = new Map<string, number>();
  for (const entry of truncated ? [] : entries) {
    if (entry.kind === 'tool') retried.set(entry.name, (retried.get(entry.name) ?? 0) + (entry.attempts ?? 1) - 1);
  }
  return retried;
}

function retriesWords(retries = 0): string {
  return retries > 0 ? count(retries, 'retry', 'retries') : '';
}

function facts(name: string, values: readonly string[]): Styled {
  return styled`${name} ${paint.dim(`· ${values.filter(Boolean).join(' · ')}`)}`;
}

/** `0.000375 USD`, `0.0196 USD`, `12.00 USD`: small amounts are more exact. */
export function dollars(usd: number): string {
  const exact = Number(usd.toFixed(usd < 0.01 ? 6 : usd < 1 ? 4 : 2));
  const isWhole = exact >= 1 || exact.toString().length < '0.00'.length;
  return `${exact > 0 && isWhole ? exact.toFixed(2) : exact} USD`;
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

/** Decisions, retries and errors, without the calls that succeeded. */
export function auditLines({ entries, truncated }: Audit): Styled[] {
  const rejected = new Set(entries.flatMap((entry) => (entry.kind === 'decided' && !entry.approved ? [entry.toolCallId] : [])));
  const settled = settledCalls(entries);
  // The outcome of a call that was rejected or settled only repeats that.
  const isToldAlready = (entry: AuditEntry) =>
    entry.kind === 'tool' &&
    ((entry.error?.startsWith('ApprovalDeniedError: ') && rejected.has(entry.toolCallId)) || settled.has(entry.toolCallId));
  const outputs = new Map(
    entries.flatMap((entry) => (isToldAlready(entry) && entry.kind === 'tool' ? [[entry.toolCallId, entry.answer]] : [])),
  );
  const told = entries.flatMap((entry) =>
    (isToldAlready(entry) ? [] : linesOf(entry, outputs)).map(
      (line) => styled`${paint.dim(entry.at.slice(0, 19).replace('T', ' '))} ${line}`,
    ),
  );
  const lines = told.slice(-most);
  const older = told.length > most || truncated;
  return older ? [paint.dim('… older entries with --json'), ...lines] : lines;
}

/** `outputs`: what people settled calls with. */
function linesOf(entry: AuditEntry, outputs: ReadonlyMap<string, string | undefined>): Styled[] {
  if (entry.kind === 'model') {
    const retries = (entry.retries ?? []).map(({ kind, message, waitMs }) => {
      const waited = waitMs === undefined ? '' : `, then waited ${duration(waitMs)}`;
      return styled`${paint.yellow('retry')} ${entry.model}: ${kind}: ${words(message)}${waited}`;
    });
    const lost = entry.wasted && styled`${paint.yellow('lost')} ${entry.model}: ${wasteWords(entry.wasted)}`;
    return lost ? [...retries, lost] : retries;
  }
  const line = entry.kind === 'settled' ? settledLine(entry, outputs.get(entry.toolCallId)) : lineOf(entry);
  return line ? [line] : [];
}

function lineOf(fact: Exclude<AuditFact, { kind: 'model' | 'settled' }>): Styled | undefined {
  switch (fact.kind) {
    case 'tool':
      return toolLine(fact);
    case 'hook':
      return hookLine(fact);
    case 'asked':
      return styled`asked about ${call(fact, shortArguments(fact.arguments ?? '', 80))}${because(fact.reason)}`;
    case 'voted':
      return styled`${paint.green('agreed')} to ${call(fact)}${by(fact.by, fact.signed)}${because(fact.reason)}; ${fact.outstanding} more must agree`;
    case 'escalated':
      return styled`nobody answered for ${call(fact)}; ${fact.groups ? `group ${fact.groups.join(', ')} is asked` : 'asked again'}`;
    case 'decided':
      return decidedLine(fact);
    case 'compensated':
      return styled`compensated ${call(fact)}${fact.attempts > 1 ? `, ${fact.attempts} attempts` : ''}`;
    case 'compensation-failed':
      return styled`${paint.red('not compensated')} ${call(fact)}: ${words(fact.message)}`;
    case 'outcome-unknown':
      return styled`${paint.yellow('unknown')} ${call(fact)}: ${words(unknownWords(fact.message))}`;
    case 'question-asked':
      return styled`${fact.from} asked in ${call(fact)}: ${words(fact.message)}`;
    case 'question-answered':
      return answeredLine(fact);
    case 'unanswered':
      return styled`nobody answered ${call(fact)} in time`;
    case 'limit-reached':
      return styled`${limitWords(fact)}`;
    case 'limit-handed-out':
      return styled`${limitWords(fact)} ${count(fact.toolCallIds.length, 'call')} handed out`;
    case 'limit-extended':
      return styled`${paint.green('granted')}${by(fact.by, fact.signed)}${because(fact.reason)}: the limit of ${fact.limit} became ${fact.max}`;
    case 'model-fallback':
      return styled`${paint.yellow('fallback')} from ${fact.model} to ${fact.nextModel}: ${fact.code}: ${words(fact.message)}`;
    case 'paused':
      return styled`paused${by(fact.by)}: ${words(fact.reason)}`;
    case 'resumed':
      return styled`resumed${by(fact.by)}${because(fact.reason)}`;
    case 'suspended':
      return styled`suspended until a reply to "${words(fact.correlationId)}"`;
    case 'request-rejected':
      // A reason usually begins with the request's name.
      return styled`${paint.yellow('refused')} the signal ${fact.request}: ${words(fact.reason.replace(`${fact.request}: `, ''))}`;
    case 'message-superseded':
      return styled`${paint.yellow('message not taken in')}: ${words(fact.reason)}`;
    case 'ended':
      return styled`the run ended: ${fact.status}${fact.code ? ` (${fact.code})` : ''}${by(fact.by)}${because(fact.message)}`;
    default:
      return unreachable(fact);
  }
}

function hookLine({ hook, ignored, errors }: Extract<AuditFact, { kind: 'hook' }>): Styled | undefined {
  const told = [
    ...(errors
      ? [styled`${paint.red('hook failed')} ${hook}: ${errors.map(({ id, message }) => `${id}: ${words(message)}`).join('; ')}`]
      : []),
    ...(ignored ? [`hook ${hook}: ignored: ${words(ignored)}`] : []),
  ];
  return told.length > 0 ? Styled.join(told, '; ') : undefined;
}

function toolLine(fact: Extract<AuditFact, { kind: 'tool' }>): Styled | undefined {
  const { status, attempts = 1, error, by: who, signed, answer } = fact;
  const tries = attempts > 1 ? `, ${attempts} attempts` : '';
  if (status !== 'success') return styled`${paint.red(status)} ${call(fact)}${tries}${by(who, signed)}${error ? `: ${words(error)}` : ''}`;
  if (attempts > 1) return styled`${paint.yellow('retry')} ${call(fact)}: ${attempts} attempts`;
  return who ? styled`${paint.green('answered')} ${call(fact)}${by(who, signed)}${because(answer)}` : undefined;
}

function answeredLine(fact: Extract<AuditFact, { kind: 'question-answered' }>): Styled {
  const { action, content, source, by: who, signed } = fact;
  const done = { accept: 'answered', decline: 'declined', cancel: 'left unanswered' }[action];
  const given = content && Object.keys(content).length > 0 ? `: ${shortFields(content, 200)}` : '';
  return styled`${done} the question of ${call(fact)}${source ? ' by its deadline' : by(who, signed)}${given}`;
}

function settledLine(fact: Extract<AuditFact, { kind: 'settled' }>, output: string | undefined): Styled {
  const { outcome, by: who, signed, reason } = fact;
  const given = outcome === 'done' && output ? `; with ${words(output)}` : '';
  return styled`settled ${call(fact)} as ${outcome}${by(who, signed)}${because(reason)}${given}`;
}

function decidedLine(fact: Extract<AuditFact, { kind: 'decided' }>): Styled {
  const { approved, by: who, signed, reason, source, remembered, stop, waitedMs } = fact;
  const edited = fact.arguments ?? fact.editedArguments;
  return Styled.join([
    styled`${approved ? paint.green('approved') : paint.red('rejected')} ${call(fact)}`,
    source === 'deadline' ? ' by its deadline' : source === 'hook' ? ' by a hook' : by(who, signed),
    because(reason),
    waitedMs === undefined ? '' : paint.dim(` (after ${duration(waitedMs)})`),
    edited === undefined ? '' : `; with ${shortArguments(edited, 80)}`,
    remembered ? `; from then on: ${rulesWords(remembered)}` : '',
    stop ? '; the run ends' : '',
  ]);
}

/** A call by its name and its id: several calls may have one name. */
function call({ name, toolCallId }: { name: string; toolCallId: string }, args = ''): Styled {
  return styled`${paint.bold(name)}${args ? ` ${args}` : ''} ${paint.dim(`(${toolCallId})`)}`;
}

function by(who: string | undefined, signed?: object): string {
  return who ? ` by ${who}${signed ? ', signed' : ''}` : '';
}

function because(reason: string | undefined): string {
  return reason ? `: ${words(reason)}` : '';
}

function words(text: string): string {
  return excerpt(text.replace(/\s+/g, ' ').trim(), 200);
}
