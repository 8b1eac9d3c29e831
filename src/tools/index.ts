export type { AskHumanOptions } from './ask-human';
export { askHuman, createAskHuman } from './ask-human';
export type {
  ApprovalAnswer,
  ApprovalPolicy,
  ApprovalRule,
  Arguments,
  Dependencies,
  InputSchema,
  Tool,
  ToolContext,
  ToolDefinition,
} from './define-tool';
export { defaultToolTimeoutMs, defineTool } from './define-tool';
export type { JsonSchema, SchemaDefinitions } from './json-schema';
export { listDir } from './list-dir';
export type { PermissionStore } from './permission-store';
export { filePermissionStore } from './permission-store';
export type { DenyRule, PermissionDecision, PermissionMode, PermissionOptions, Permissions } from './permissions';
export { createPermissions } from './permissions';
export { readFile } from './read-file';
export type { Execution, ToolHost } from './run-tool';
export type { ShellArguments, ShellOptions } from './shell';
export { createShell } from './shell';
export type { Environment } from './shell-environment';
export type { Suspended, SuspendOptions } from './suspend';
export { suspend } from './suspend';
export { ToolFailure, ToolTimeoutError } from './tool-failure';
export type { JudgeOptions, Toolbox, ToolboxOptions } from './toolbox';
export { createToolbox } from './toolbox';
export type { Toolset } from './toolset';
export { createToolset } from './toolset';
export type { Workspace } from './workspace';
export { openWorkspace, WorkspaceError } from './workspace';
export { writeFile } from './write-file';
