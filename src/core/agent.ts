import type { JsonObject } from './json';
import type { ToolStrategy } from './tool';

/** What is sent to the model beside the conversation. Everything unset is the provider's default. */
export interface ModelSettings {
  /** 0 to 2. */
  temperature?: number;
  maxTokens?: number;
  /** A tool's name forces that tool. */
  toolChoice?: 'auto' | 'none' | 'required' | { tool: string };
  /** Passed to the provider's request as it is. */
  providerOptions?: JsonObject;
}

/** Where a run must stop. `0` means none at all; unset means no limit, but for `turns`. */
export interface Limits {
  /** Model calls in one run. Default 100. */
  turns?: number;
  /** Tool calls in one run. */
  toolCalls?: number;
}

export const defaultTurns = 100;

/** What a run needs to know of its agent, found out once by an activity and recorded. The instructions and schemas stay with the worker. */
export interface AgentFacts {
  name: string;
  /** `provider/model`, or a bare model name. */
  model: string;
  limits: Limits;
  strategy: ToolStrategy;
  /** Whether the search attributes are registered with the server: an upsert of an unknown one would wedge the thread. */
  searchAttributes: boolean;
}
