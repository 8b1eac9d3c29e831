/** What the package offers by its name; `longhaul/client` alone for processes that only start and watch threads. */
export type { Agent, AgentDefinition } from './agents';
export { createCoder, defineAgent } from './agents';
export {
  type Approval,
  type Audit,
  type AuditEntry,
  createSigner,
  type Decision,
  type DecisionSigner,
  type InboxFilter,
  type InboxItem,
  LonghaulClient,
  LonghaulError,
  type Refusal,
  type SendOptions,
  type StartOptions,
  Thread,
} from './client';
export type { Attestation } from './core/attestation';
export type { AgentEvent, DurableEvent, EphemeralEvent, PendingCall, TerminalEvent } from './core/event';
export { isDurable, isTerminal } from './core/event';
export type { Content, Message, Part, Usage } from './core/message';
export * from './core/projections';
export { defineHooks, type HookContext, type HookDefinitions, type Hooks } from './hooks';
export { type ModelAnswer, ModelFailure, type ModelProvider, type ModelRequest } from './models/model';
export { createPrices, type ModelPrice, type Prices } from './models/prices';
export { createModels, defaultModels, type Models } from './models/registry';
export { inProcessBus, type StreamBus } from './stream/stream-bus';
export {
  type ApprovalPolicy,
  type ApprovalRule,
  askHuman,
  createAskHuman,
  createPermissions,
  createToolset,
  defineTool,
  filePermissionStore,
  type JsonSchema,
  type PermissionStore,
  type Permissions,
  suspend,
  type Tool,
  type ToolContext,
  ToolFailure,
  type Toolset,
} from './tools';
export { type AgentWorker, createVerifier, createWorker, type DecisionVerifier, type SignerKeys, type WorkerOptions } from './worker';
export { type WorkflowBundleSettings, workflowBundleOptions } from './workflow-bundle';
