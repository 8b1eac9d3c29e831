import { ActivityFailure, proxyActivities, TimeoutFailure } from '@temporalio/workflow';
import type { Activities } from '../contract/activities';
import type { AgentFacts } from '../core/agent';
import type { Extra } from '../core/evolve';
import type { RunState } from '../core/state';
import { awaitAgentOptions, resolveAgentOptions } from './activity-options';
import { defaultAgentWaitMs, isUnknownAgent, saysSearchable } from './await-agent';
import { activityEvents, grow } from './growth';
import { newId } from './record';
import { publishStatus } from './search-attributes';
import { changeStatus } from './status';
import { openingOf } from './take-in';
import type { Thread } from './thread';

/** Begins a run with what it needs to know of its agent. Whatever happens, there is a run afterwards, so that a failure has one to end. */
export async function resolveRun(thread: Thread): Promise<RunState> {
  const { state, record } = thread;
  const begin = (extra: Extra = {}) =>
    record('agent.run.created', { status: 'in_progress', initialMessages: openingOf(state) }, { runId: newId('run'), ...extra });
  let facts: AgentFacts;
  try {
    facts = await resolve(thread);
  } catch (error) {
    const unknown = isUnknownAgent(error);
    begin(unknown && saysSearchable(error) ? { searchable: true } : {});
    if (!unknown) throw error;
    return awaitAgent(thread, error);
  }
  begin({ facts });
  return state.run as RunState;
}

/** No worker that was asked has the agent: the run waits, visibly, until one that does takes it up, or the time is over. */
async function awaitAgent(thread: Thread, error: ActivityFailure): Promise<RunState> {
  const { state, record, input } = thread;
  thread.eager = false;
  const waitMs = input.agentWaitMs ?? defaultAgentWaitMs;
  if (waitMs > 0) changeStatus(thread, 'queued', `Waiting for a worker that has the agent. ${error.cause?.message}`);
  if (state.searchable) publishStatus(state, 'begins');
  if (waitMs === 0) throw error;
  const facts = await resolve(thread, waitMs).catch((late: unknown) => {
    // Workers were away for all that time: whoever is back now has not been asked.
    if (late instanceof ActivityFailure && late.cause instanceof TimeoutFailure) return resolve(thread);
    throw late;
  });
  record(
    'agent.run.status.changed',
    { status: 'in_progress', previousStatus: 'queued', details: 'A worker that has the agent took it up.' },
    { facts },
  );
  return state.run as RunState;
}

async function resolve({ state, growth }: Thread, waitMs?: number): Promise<AgentFacts> {
  grow(growth, activityEvents);
  const { resolveAgent } = proxyActivities<Activities>(waitMs === undefined ? resolveAgentOptions : awaitAgentOptions(waitMs));
  const facts = await resolveAgent({ agent: state.agent });
  grow(growth, 0, facts);
  return facts;
}
