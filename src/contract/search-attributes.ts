/** The search attributes that the engine fills in, with the types they are registered with. */
export const searchAttributeTypes = {
  AgentName: 'Keyword',
  AgentStatus: 'Keyword',
  AgentModel: 'Keyword',
  AgentCostUsd: 'Double',
  AgentPendingTool: 'Keyword',
  AgentPendingGroup: 'Keyword',
  AgentWaitingSince: 'Datetime',
  AgentIds: 'KeywordList',
} as const;
