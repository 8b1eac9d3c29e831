export type { ApprovalRule, Dependencies, Tool, ToolContext, ToolDefinition } from './define-tool';
export { defaultToolTimeoutMs, defineTool } from './define-tool';
export type { Execution, ToolHost } from './run-tool';
export { ToolFailure, ToolTimeoutError } from './tool-failure';
export type { Toolbox } from './toolbox';
export { createToolbox } from './toolbox';
