import { tools } from '../tool-facts';
import type { Evidence, LogEvent, Violation } from './evidence';
import { calledIn, type Marks, marksOf } from './marks';

interface Question {
  call: string;
  name: string;
  n: string;
  asked: boolean;
  approvers: number;
  votes: Set<string>;
  decided?: { approved: boolean; at: number; source?: string; by?: string };
}

/** No call begins before enough people, a deadline or a hook approved it, and none that was refused. */
export function withoutApproval({ threads, ledger, effects }: Evidence): Violation[] {
  const found: Violation[] = [];
  const marks = marksOf({ ledger, effects });
  for (const { id, log, plan } of threads) {
    const remembered = new Set<string>();
    for (const question of questionsOf(log ?? [], remembered, marks)) {
      const { call, name, n, asked, approvers, votes, decided } = question;
      const say = (what: string) => found.push({ rule: 'effect without approval', thread: id, what: `${name} ${call} (${n}) ${what}` });
      const begins = ledger.filter((line) => line.n === n && line.what === 'begin');
      const needed = tools[name]?.approvers ?? 0;
      if (begins.length === 0 || (needed === 0 && !asked)) continue;
      const first = Math.min(...begins.map(({ at }) => at));
      if (!decided) {
        if (!remembered.has(`${call}/${n}`)) say('began without a decision');
        continue;
      }
      if (!decided.approved) say(`began though it was refused by ${decided.by ?? decided.source}`);
      if (first < decided.at) say(`began ${decided.at - first} ms before it was approved`);
      if (decided.source === 'deadline' && !tools[name]?.approvesItself) say('was approved by a deadline that may not approve it');
      if (decided.source === 'hook' && plan.agent !== 'hooked') say('was approved by a hook that its agent does not have');
      if (decided.by) votes.add(decided.by);
      if (decided.approved && !decided.source && votes.size < approvers) say(`began with ${votes.size} of ${approvers} approvals`);
    }
  }
  return found;
}

function questionsOf(log: readonly LogEvent[], free: Set<string>, marks: Marks): Question[] {
  const open = new Map<string, Question>();
  const all: Question[] = [];
  const rules = new Set<string>();
  for (const event of log) {
    const { type, data, timestamp } = event;
    const called = calledIn(event, marks);
    if (called) {
      const one = { ...called, asked: false, approvers: 1, votes: new Set<string>() };
      open.set(called.call, one);
      all.push(one);
      if (rules.has(called.name)) free.add(`${called.call}/${called.n}`);
      continue;
    }
    const call = (data.toolCall as { id?: string } | undefined)?.id ?? data.toolCallId;
    const one = open.get(String(call));
    if (!one) continue;
    if (type === 'agent.approval.requested') {
      one.asked = true;
      one.approvers = Number(data.approvers ?? 1);
    }
    if (type === 'agent.approval.voted') one.votes.add(String(data.by));
    if (type !== 'agent.approval.decided') continue;
    one.decided = {
      approved: data.approved === true,
      at: Date.parse(timestamp),
      ...(typeof data.source === 'string' && { source: data.source }),
      ...(typeof data.by === 'string' && { by: data.by }),
    };
    for (const { tool } of (data.remembered as { tool: string }[] | undefined) ?? []) rules.add(tool);
  }
  return all;
}
