import { defineSearchAttributeKey, SearchAttributeType, type SearchAttributeUpdatePair } from '@temporalio/common';
import { upsertSearchAttributes } from '@temporalio/workflow';
import { inForce, type ThreadState } from '../core/state';
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
export function publishStatus(state: ThreadState, when?: 'begins' | 'rests' | 'goes on' | 'ends'): void {
  if (!state.facts?.searchAttributes) return;
  const { run, before } = state;
  const pairs: SearchAttributeUpdatePair[] = [{ key: keys.status, value: threadStatus(state) }];
  const ids = [run?.id ?? '', run?.suspension?.correlationId ?? ''].filter((id) => id !== '');
  if (when === 'begins') {
    pairs.push(
      { key: keys.name, value: state.agent },
      { key: keys.model, value: inForce(state).model ?? '' },
      { key: keys.ids, value: ids },
    );
  }
  if (when === 'rests') {
    const [first] = pendingCalls(state);
    pairs.push({ key: keys.pendingTool, value: first?.name ?? null }, { key: keys.waitingSince, value: new Date() });
    if (first?.groups?.[0]) pairs.push({ key: keys.pendingGroup, value: first.groups[0] });
    if (run?.suspension) pairs.push({ key: keys.ids, value: ids });
  }
  if (when === 'goes on') {
    pairs.push({ key: keys.pendingTool, value: null }, { key: keys.waitingSince, value: null }, { key: keys.pendingGroup, value: null });
  }
  const costUsd = before.costUsd + (run?.costUsd ?? 0);
  if (costUsd > 0 && when !== 'begins') pairs.push({ key: keys.costUsd, value: costUsd });
  upsertSearchAttributes(pairs);
}
