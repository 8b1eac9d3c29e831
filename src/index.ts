/** The exports of the package `longhaul`. Processes that only start and watch threads can import `longhaul/client` instead. */
export type { Agent, AgentDefinition, SplitOptions, ToolSearchOptions } from './agents';
export { createCoder, defineAgent, splitGroups } from './agents';
export { type ArtifactStore, folderArtifacts, memoryArtifacts, postgresArtifacts, type S3ArtifactsOptions, s3Artifacts } from './artifacts';
export {
  type Approval,
  type Audit,
  type AuditEntry,
  createSigner,
  type Decision,
  type DecisionSigner,
  type EncodingOptions,
  type EncryptionKey,
  type InboxFilter,
  type InboxItem,
  type KeyProvider,
  keysFromFile,
  keysFromText,
  LonghaulClient,
  LonghaulError,
  type LonghaulErrorCode,
  payloadCodecs,
  type Refusal,
  type RefusalCode,
  type SendOptions,
  type StartOptions,
  type StatusView,
  Thread,
  type ThreadResult,
  type ThreadTotals,
  type UsageView,
} from './client';
export type { Attestation } from './core/attestation';
export type { AgentEvent, DurableEvent, EphemeralEvent, PendingCall, TerminalEvent } from './core/event';
export { isDurable, isTerminal } from './core/event';
export type { AnswerPart, AssistantMessage, Content, Message, Part, ToolCall, ToolMessage, Usage, UserMessage } from './core/message';
export { reasoningOf, refusalOf, textOf, toolCallsOf, wordsOf } from './core/message';
export type { QuestionField, QuestionSchema, ToolQuestion } from './core/questions';
export { defineHooks, type HookContext, type HookDefinitions, type Hooks } from './hooks';
export { type AiSdkOptions, aiSdk } from './models/ai-sdk/client';
export { type AnthropicOptions, anthropic } from './models/anthropic/client';
export { createModelCatalog, type ModelCatalog } from './models/catalog/model-catalog';
export type { Capabilities, ModelInfo, ModelOverride, ModelPrices } from './models/catalog/model-info';
export { type GoogleOptions, google } from './models/google/client';
export { type ModelAnswer, ModelFailure, type ModelProvider, type ModelRequest } from './models/model';
export { type OpenAiOptions, openAi } from './models/openai/client';
export { type OpenAiResponsesOptions, openAiResponses } from './models/openai-responses/client';
export { createModels, defaultModels, type Models } from './models/registry';
export type { ModelCredentials, TokenSource } from './models/wire/access';
export * from './projections';
export { inProcessBus, type StreamBus } from './stream/stream-bus';
export {
  type ApprovalPolicy,
  type ApprovalRule,
  applyPatch,
  askHuman,
  beginAuthorization,
  type Credential,
  type CredentialRequest,
  type Credentials,
  createAskHuman,
  createPermissions,
  createShell,
  createShellTools,
  createToolProvider,
  createToolset,
  createWebFetch,
  defineTool,
  editFile,
  type FolderTokenStoreOptions,
  filePermissionStore,
  finishAuthorization,
  folderTokenStore,
  type GroupOptions,
  globFiles,
  grepFiles,
  groupTools,
  type JsonSchema,
  listDir,
  loadSkill,
  type McpCredentials,
  type McpProcess,
  type McpQuestions,
  type McpServer,
  type McpToolRules,
  type McpToolsOptions,
  type McpUrl,
  mcpTools,
  type OAuth,
  type OAuthTokens,
  type OpenApiOptions,
  type OpenApiTools,
  oauth,
  openApiTools,
  type PermissionStore,
  type Permissions,
  type ProbeAnswer,
  type ProbeRequest,
  projectInstructions,
  readFile,
  type StoredTokens,
  searchSkills,
  skillInstructions,
  suspend,
  type TokenGrant,
  type TokenStorage,
  type TokenStore,
  type Tool,
  type ToolContext,
  ToolFailure,
  type ToolGroup,
  type ToolProvider,
  type ToolProviderDefinition,
  type Toolset,
  threadWorkspace,
  tokenKey,
  updatePlan,
  viewImage,
  type WebFetchArguments,
  type WebFetchOptions,
  writeFile,
} from './tools';
export { type AgentWorker, createVerifier, createWorker, type DecisionVerifier, type SignerKeys, type WorkerOptions } from './worker';
export { type WorkflowBundleSettings, workflowBundleOptions } from './workflow-bundle';
