export type { AnswerFormat } from './answer-format';
export type { CoderOptions } from './coder';
export { createCoder } from './coder';
export type { Agent, AgentDefinition, Instructions, InstructionsContext, StopOption, ToolSource } from './define-agent';
export { defineAgent, factsOf } from './define-agent';
export type { Agents } from './registry';
export { AgentNotFoundError, createAgents } from './registry';
