import type { Agents } from '../../agents/registry';
import type { Artifacts } from '../../artifacts';
import type { AgentFacts, Limits } from '../../core/agent';
import type { ModelCatalog } from '../../models/catalog/model-catalog';
import type { Models } from '../../models/registry';
import type { StreamBus } from '../../stream/stream-bus';
import type { Dependencies, Tool } from '../../tools/defining/define-tool';
import type { DecisionVerifier } from '../verify-decision';
import type { TranscriptCache } from './transcript-cache';

/** What the activities of one worker share. */
export interface ActivityDependencies {
  agents: Agents;
  models: Models;
  catalog: ModelCatalog;
  /** Default limits, for each limit that an agent does not set. */
  limits: Limits;
  bus: StreamBus;
  transcripts: TranscriptCache;
  /** The absolute path of the workspace of agents that set none. */
  workspace: string;
  /** The dependencies that tools get through `ctx.resolve`. */
  dependencies: Dependencies;
  /** Stores what does not fit into a history. Without it, such outputs are cut, and such images left out. */
  artifacts?: Artifacts;
  /** With a store: the tools with which models read it. */
  outputTools?: readonly Tool[];
  /** Milliseconds until another worker takes over a step of a worker that died. It determines the heartbeat timeout. */
  takeoverMs: number;
  /** How often heartbeats contain the growing text, in milliseconds; unset means never. */
  liveTextMs?: number;
  /** Whether the namespace has our search attributes. Checked once, when the worker starts. */
  searchAttributes: boolean;
  /** If set, decisions must have a signature that it accepts. */
  verifier?: DecisionVerifier;
  /** When threads continue as new, if not at the default. */
  carryAfter?: AgentFacts['carryAfter'];
}
