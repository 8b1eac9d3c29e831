export { applyPatch } from './built-in/apply-patch';
export type { AskHumanOptions } from './built-in/ask-human';
export { askHuman, createAskHuman } from './built-in/ask-human';
export type { CommandLimits } from './built-in/command-limits';
export { editFile } from './built-in/edit';
export { globFiles } from './built-in/glob';
export { grepFiles } from './built-in/grep';
export { listDir } from './built-in/list-dir';
export { openWorkspace } from './built-in/open-workspace';
export { readFile } from './built-in/read-file';
export type { SandboxOptions } from './built-in/sandbox/sandbox';
export type { ShellArguments, ShellOptions } from './built-in/shell';
export { createShell } from './built-in/shell';
export type { Environment } from './built-in/shell-environment';
export { createShellTools } from './built-in/tasks/shell-tools';
export { threadWorkspace } from './built-in/thread-workspace';
export { updatePlan } from './built-in/update-plan';
export { viewImage } from './built-in/view-image';
export type { Entry, EntryStat, LocalFolder, OpenFile, OpenFolder, Workspace, WriteOptions } from './built-in/workspace';
export { WorkspaceError } from './built-in/workspace';
export { writeFile } from './built-in/write-file';
export type {
  ApprovalAnswer,
  ApprovalPolicy,
  ApprovalRule,
  Arguments,
  CommandSandbox,
  Dependencies,
  InputSchema,
  ProbeAnswer,
  ProbeRequest,
  Tool,
  ToolContext,
  ToolDefinition,
} from './defining/define-tool';
export { defaultToolTimeoutMs, defineTool } from './defining/define-tool';
export type { GroupOptions, ToolGroup } from './defining/group-tools';
export { groupTools } from './defining/group-tools';
export type { JsonSchema, SchemaDefinitions } from './defining/json-schema';
export type { Suspended, SuspendOptions } from './defining/suspend';
export { suspend } from './defining/suspend';
export { ToolFailure, ToolTimeoutError } from './defining/tool-failure';
export type { ToolHolder, ToolProvider, ToolProviderDefinition, ToolsWanted } from './defining/tool-provider';
export { createToolProvider } from './defining/tool-provider';
export type { Toolset } from './defining/toolset';
export { createToolset } from './defining/toolset';
export type { McpToolsOptions } from './mcp/mcp-tools';
export { mcpTools } from './mcp/mcp-tools';
export type { McpCredentials, McpProcess, McpQuestions, McpServer, McpToolRules, McpUrl } from './mcp/options';
export type { Authorization } from './oauth/authorization';
export { beginAuthorization, finishAuthorization } from './oauth/authorization';
export type { FolderTokenStoreOptions } from './oauth/folder-token-store';
export { folderTokenStore } from './oauth/folder-token-store';
export type { OAuthTokens, TokenGrant, TokenStorage } from './oauth/grant';
export type { OAuth } from './oauth/oauth';
export { oauth } from './oauth/oauth';
export type { StoredTokens, TokenStore } from './oauth/token-store';
export { tokenKey } from './oauth/token-store';
export type { Credential, CredentialRequest, Credentials, SecurityScheme } from './openapi/credentials';
export type { DocumentSource } from './openapi/load-document';
export type { OpenApiOptions, OpenApiTools, OperationChoice, ToolOperation } from './openapi/openapi-tools';
export { openApiTools } from './openapi/openapi-tools';
export type { ApiOperation } from './openapi/operations';
export type { PermissionStore } from './permissions/permission-store';
export { filePermissionStore } from './permissions/permission-store';
export type { DenyRule, PermissionDecision, PermissionMode, PermissionOptions, Permissions } from './permissions/permissions';
export { createPermissions } from './permissions/permissions';
export { projectInstructions } from './project/agents-md';
export { loadSkill, searchSkills, skillInstructions } from './project/skills';
export type { Execution } from './running/run-tool';
export type { ToolHost } from './running/run-within';
export type { JudgeOptions, Toolbox, ToolboxOptions } from './running/toolbox';
export { createToolbox } from './running/toolbox';
export type { WebFetchArguments, WebFetchOptions } from './web/web-fetch';
export { createWebFetch } from './web/web-fetch';
