export type { Agent, AgentDefinition, Instructions, InstructionsContext } from './define-agent';
export { defineAgent } from './define-agent';
export type { Agents } from './registry';
export { AgentNotFoundError, createAgents } from './registry';
