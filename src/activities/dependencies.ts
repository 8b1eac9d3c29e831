import type { Agents } from '../agents/registry';
import type { AgentFacts, Limits } from '../core/agent';
import type { Prices } from '../models/prices';
import type { Models } from '../models/registry';
import type { StreamBus } from '../stream/stream-bus';
import type { Dependencies } from '../tools/define-tool';
import type { TranscriptCache } from './transcript-cache';
import type { DecisionVerifier } from './verify-decision';

/** What the activities of one worker share. */
export interface ActivityDependencies {
  agents: Agents;
  models: Models;
  prices: Prices;
  /** For agents that set none of a kind themselves. */
  limits: Limits;
  bus: StreamBus;
  transcripts: TranscriptCache;
  /** The folder of agents that name none, absolute. */
  workspace: string;
  /** What tools reach through `ctx.resolve`. */
  dependencies: Dependencies;
  /** How soon another worker takes over a step of one that died: it sets the heartbeat timeout. */
  takeoverMs: number;
  /** How often the growing text goes into heartbeats, where it does. */
  liveTextMs?: number;
  /** Whether the namespace has our search attributes; asked once, when the worker starts. */
  searchAttributes: boolean;
  /** Where there is one, decisions count only when they are signed as it has it. */
  verifier?: DecisionVerifier;
  /** When threads continue as new, where it is not by default. */
  carryAfter?: AgentFacts['carryAfter'];
}
