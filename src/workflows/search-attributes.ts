import { defineSearchAttributeKey, SearchAttributeType, type SearchAttributeUpdatePair } from '@temporalio/common';
import { upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { bounds } from '../core/bounds';
import { bytesOf } from '../core/context/carry';
import type { PendingCall } from '../core/event';
import { inForce, type ThreadState } from '../core/state';
import { shortText } from '../core/text';
import { pendingCalls, threadStatus } from '../core/views';

const keys = {
  name: defineSearchAttributeKey('AgentName', SearchAttributeType.KEYWORD),
  status: defineSearchAttributeKey('AgentStatus', SearchAttributeType.KEYWORD),
  model: defineSearchAttributeKey('AgentModel', SearchAttributeType.KEYWORD),
  costUsd: defineSearchAttributeKey('AgentCostUsd', SearchAttributeType.DOUBLE),
  pendingTool: defineSearchAttributeKey('AgentPendingTool', SearchAttributeType.KEYWORD),
  pendingGroup: defineSearchAttributeKey('AgentPendingGroup', SearchAttributeType.KEYWORD),
  waitingSince: defineSearchAttributeKey('AgentWaitingSince', SearchAttributeType.DATETIME),
  ids: defineSearchAttributeKey('AgentIds', SearchAttributeType.KEYWORD_LIST),
};

/**
 * Makes the thread findable by its status, by what it waits for, and by the ids of its run and of a reply. At changes of status only, and
 * only what changes then: an upsert is an event in the history. Where the attributes are not registered the server would fail the
 * workflow task for ever, so then nothing is done.
 */
export function publishStatus(state: ThreadState, when?: 'begins' | 'rests' | 'ends'): void {
  if (!(state.searchable ?? state.facts?.searchAttributes)) return;
  const { run, before } = state;
  const pairs: SearchAttributeUpdatePair[] = [{ key: keys.status, value: threadStatus(state) }];
  const ids = [run?.id ?? '', run?.suspension?.correlationId ?? ''].filter((id) => id !== '');
  if (when === 'begins') {
    const { model } = inForce(state);
    pairs.push({ key: keys.name, value: keyword(state.agent) });
    // Not known while no worker has the agent.
    if (model !== undefined) pairs.push({ key: keys.model, value: keyword(model) });
    pairs.push({ key: keys.ids, value: affordable(ids) });
  }
  if (when === 'rests') {
    const pending = pendingCalls(state);
    const [first] = pending;
    const group = first?.groups?.[0];
    pairs.push(
      { key: keys.pendingTool, value: first ? keyword(first.name) : null },
      { key: keys.pendingGroup, value: group === undefined ? null : keyword(group) },
      { key: keys.waitingSince, value: waitingSince(pending) },
      { key: keys.ids, value: affordable([...ids, ...furtherNames(pending)]) },
    );
  }
  // Not when it goes on: what it waited for is soon overwritten, and the status says that it does not count.
  if (when === 'ends') {
    pairs.push({ key: keys.pendingTool, value: null }, { key: keys.waitingSince, value: null }, { key: keys.pendingGroup, value: null });
  }
  const costUsd = before.costUsd + (run?.costUsd ?? 0);
  if (costUsd > 0 && Number.isFinite(costUsd) && when !== 'begins') pairs.push({ key: keys.costUsd, value: costUsd });
  const { typedSearchAttributes: now } = workflowInfo();
  const changed = pairs.filter(({ key, value }) => !isSame(now.get(key), value));
  if (changed.length > 0) upsertSearchAttributes(changed);
}

/** Since when the oldest waits: someone may have answered another, or been asked again, since. */
function waitingSince(pending: readonly PendingCall[]): Date {
  const known = pending.flatMap(({ since }) => (since ? [Date.parse(since)] : []));
  return new Date(Math.min(Date.now(), ...known));
}

/** What the two keywords, with room for one name each, can't hold: a thread is found by each tool and group it waits for. */
function furtherNames(pending: readonly PendingCall[]): string[] {
  const [first] = pending;
  const tools = pending.map(({ name }) => name).filter((name) => name !== first?.name);
  const groups = pending.flatMap((call) => call.groups ?? []).filter((group) => group !== first?.groups?.[0]);
  const names = [...tools.map((name) => `tool:${name}`), ...groups.map((group) => `group:${group}`)];
  return [...new Set(names)];
}

/**
 * A text as every visibility store takes it. A server ends a workflow that sets a keyword above 2,048 bytes; a SQL database has 255
 * characters for one, and PostgreSQL refuses the character U+0000.
 */
function keyword(text: string): string {
  return shortText(text.replace(/\p{Cc}/gu, ' '), bounds.keywordChars);
}

/** A list above the server's limit would end the workflow, too; what does not fit can't be found by, and does no harm. */
function affordable(ids: readonly string[]): string[] {
  let bytes = 0;
  return ids.filter((id) => {
    const more = bytesOf(id) + 1;
    if (/\p{Cc}/u.test(id) || bytes + more > bounds.keywordListBytes) return false;
    bytes += more;
    return true;
  });
}

function isSame(before: unknown, value: unknown): boolean {
  return (before ?? null) === value || (Array.isArray(value) && JSON.stringify(before) === JSON.stringify(value));
}
