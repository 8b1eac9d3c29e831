import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';

const { KEYWORD, KEYWORD_LIST, DOUBLE, DATETIME } = SearchAttributeType;

/** The search attributes that threads set. `scripts/temporal.js` registers the same ones with the servers that it starts. */
export const searchAttributes = {
  agent: defineSearchAttributeKey('AgentName', KEYWORD),
  status: defineSearchAttributeKey('AgentStatus', KEYWORD),
  model: defineSearchAttributeKey('AgentModel', KEYWORD),
  costUsd: defineSearchAttributeKey('AgentCostUsd', DOUBLE),
  /** The tool and the group of the first pending call. Those of further calls are in `ids`. */
  pendingTool: defineSearchAttributeKey('AgentPendingTool', KEYWORD),
  pendingGroup: defineSearchAttributeKey('AgentPendingGroup', KEYWORD),
  waitingSince: defineSearchAttributeKey('AgentWaitingSince', DATETIME),
  /** Run id, correlation id, `tool:<name>` and `group:<name>`. */
  ids: defineSearchAttributeKey('AgentIds', KEYWORD_LIST),
};

/** The types as Temporal's command line spells them. */
export const searchAttributeTypes = { KEYWORD: 'Keyword', KEYWORD_LIST: 'KeywordList', DOUBLE: 'Double', DATETIME: 'Datetime' } as const;
