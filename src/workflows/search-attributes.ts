import { defineSearchAttributeKey, SearchAttributeType, type SearchAttributeUpdatePair } from '@temporalio/common';
import { upsertSearchAttributes } from '@temporalio/workflow';
import type { ThreadState } from '../core/state';
import { pendingCalls, threadStatus } from '../core/views';

const keys = {
  name: defineSearchAttributeKey('AgentName', SearchAttributeType.KEYWORD),
  status: defineSearchAttributeKey('AgentStatus', SearchAttributeType.KEYWORD),
  model: defineSearchAttributeKey('AgentModel', SearchAttributeType.KEYWORD),
  pendingTool: defineSearchAttributeKey('AgentPendingTool', SearchAttributeType.KEYWORD),
  waitingSince: defineSearchAttributeKey('AgentWaitingSince', SearchAttributeType.DATETIME),
};

/**
 * Makes the thread findable by its status and by what it waits for. At changes of status only: an upsert is an event in the history.
 * Where the attributes are not registered the server would fail the workflow task for ever, so then nothing is done.
 */
export function publishStatus(state: ThreadState, waiting?: 'rests' | 'goes on'): void {
  if (!state.facts?.searchAttributes) return;
  const pairs: SearchAttributeUpdatePair[] = [
    { key: keys.name, value: state.agent },
    { key: keys.status, value: threadStatus(state) },
    { key: keys.model, value: state.overrides.model ?? state.facts.model },
  ];
  if (waiting === 'rests') {
    pairs.push({ key: keys.pendingTool, value: pendingCalls(state)[0]?.name ?? null }, { key: keys.waitingSince, value: new Date() });
  }
  if (waiting === 'goes on') pairs.push({ key: keys.pendingTool, value: null }, { key: keys.waitingSince, value: null });
  upsertSearchAttributes(pairs);
}
