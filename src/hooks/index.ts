export type {
  HookContext,
  HookDefinition,
  HookDefinitions,
  HookFailureMode,
  HookFunction,
  Hooks,
  HooksOptions,
} from './define-hooks';
export { defineHooks } from './define-hooks';
export type { HookHost } from './run-registered';
