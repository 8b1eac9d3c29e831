export type { CoderOptions } from './coder';
export { createCoder } from './coder';
export type { Agent, AgentDefinition, Instructions, InstructionsContext } from './define-agent';
export { defineAgent, factsOf } from './define-agent';
export type { Agents } from './registry';
export { AgentNotFoundError, createAgents } from './registry';
