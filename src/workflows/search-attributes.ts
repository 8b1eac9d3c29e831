import type { SearchAttributeUpdatePair } from '@temporalio/common';
import { upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { searchAttributes as keys } from '../contract/search-attributes';
import { bounds } from '../core/bounds';
import { bytesOf } from '../core/context/carry';
import type { PendingCall } from '../core/event';
import { inForce, type ThreadState } from '../core/state';
import { shortText } from '../core/text';
import { pendingCalls, threadStatus } from '../core/views';

/**
 * Updates the search attributes: status, what the thread waits for, and the ids of its run and of an awaited reply. Called at changes of status
 * only, and upserts only changed values, because an upsert is an event in the history. Does nothing if the attributes are not registered,
 * because the server would then fail the workflow task forever.
 */
export function publishStatus(state: ThreadState, when?: 'begins' | 'waits' | 'ends'): void {
  if (!(state.searchable ?? state.facts?.searchAttributes)) return;
  const { run, before } = state;
  const pairs: SearchAttributeUpdatePair[] = [{ key: keys.status, value: threadStatus(state) }];
  const ids = [run?.id ?? '', run?.suspension?.correlationId ?? ''].filter((id) => id !== '');
  if (when === 'begins') {
    const { model } = inForce(state);
    pairs.push({ key: keys.agent, value: keyword(state.agent) });
    // The model is not known while no worker has the agent.
    if (model !== undefined) pairs.push({ key: keys.model, value: keyword(model) });
    pairs.push({ key: keys.ids, value: affordable(ids) });
  }
  if (when === 'waits') {
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
  // Not cleared when the run continues: the status says that the values do not apply, and one event less is written.
  if (when === 'ends') {
    pairs.push({ key: keys.pendingTool, value: null }, { key: keys.waitingSince, value: null }, { key: keys.pendingGroup, value: null });
  }
  const costUsd = before.costUsd + (run?.costUsd ?? 0);
  if (costUsd > 0 && Number.isFinite(costUsd) && when !== 'begins') pairs.push({ key: keys.costUsd, value: costUsd });
  const { typedSearchAttributes: now } = workflowInfo();
  const changed = pairs.filter(({ key, value }) => !isSame(now.get(key), value));
  if (changed.length > 0) upsertSearchAttributes(changed);
}

/** Since when the oldest pending call has been waiting, or now. */
function waitingSince(pending: readonly PendingCall[]): Date {
  const known = pending.flatMap(({ since }) => (since ? [Date.parse(since)] : []));
  return new Date(Math.min(Date.now(), ...known));
}

/** The tools and groups that do not fit into the two keywords, which hold one name each. They make the thread findable by each name. */
function furtherNames(pending: readonly PendingCall[]): string[] {
  const [first] = pending;
  const tools = pending.map(({ name }) => name).filter((name) => name !== first?.name);
  const groups = pending.flatMap((call) => call.groups ?? []).filter((group) => group !== first?.groups?.[0]);
  const names = [...tools.map((name) => `tool:${name}`), ...groups.map((group) => `group:${group}`)];
  return [...new Set(names)];
}

/**
 * Makes a text valid for every visibility store. A server terminates a workflow that sets a keyword above 2,048 bytes; a SQL database stores
 * 255 characters, and PostgreSQL rejects the character U+0000.
 */
function keyword(text: string): string {
  return shortText(text.replace(/\p{Cc}/gu, ' '), bounds.keywordChars);
}

/** Keeps the ids that fit the server's limit for a list; a longer list would also end the workflow. The thread can't be found by the others. */
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
