import { ActivityFailure, proxyActivities, TimeoutFailure } from '@temporalio/workflow';
import type { Activities } from '../contract/activities';
import type { AgentFacts } from '../core/agent';
import { runOf } from '../core/calls';
import type { Extra } from '../core/evolve';
import type { RunState } from '../core/state';
import { awaitAgentOptions, resolveAgentOptions } from './activity-options';
import { defaultAgentWaitMs, isUnknownAgent, saysSearchable } from './await-agent';
import { activityEvents, grow } from './growth';
import { newId } from './record';
import { publishStatus } from './search-attributes';
import { changeStatus } from './status';
import { openingOf } from './take-in';
import type { ThreadContext } from './thread-context';

/** Begins a run with its agent's facts. Creates the run even if they can't be resolved, so that the failure ends a run. */
export async function resolveRun(thread: ThreadContext): Promise<RunState> {
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
  return runOf(state);
}

/** Waits with status `queued` until a worker that has the agent takes the run, for at most `agentWaitMs`. Throws when the time is over. */
async function awaitAgent(thread: ThreadContext, error: ActivityFailure): Promise<RunState> {
  const { state, record, input } = thread;
  thread.eager = false;
  const waitMs = input.agentWaitMs ?? defaultAgentWaitMs;
  if (waitMs > 0) changeStatus(thread, 'queued', `Waiting for a worker that has the agent. ${error.cause?.message}`);
  if (state.searchable) publishStatus(state, 'begins');
  if (waitMs === 0) throw error;
  const facts = await resolve(thread, waitMs).catch((late: unknown) => {
    // No worker was available for all that time. One that is back now may have the agent.
    if (late instanceof ActivityFailure && late.cause instanceof TimeoutFailure) return resolve(thread);
    throw late;
  });
  record(
    'agent.run.status.changed',
    { status: 'in_progress', previousStatus: 'queued', details: 'A worker that has the agent took it up.' },
    { facts },
  );
  return runOf(state);
}

async function resolve({ state, growth }: ThreadContext, waitMs?: number): Promise<AgentFacts> {
  grow(growth, activityEvents);
  const { resolveAgent } = proxyActivities<Activities>(waitMs === undefined ? resolveAgentOptions : awaitAgentOptions(waitMs));
  const facts = await resolveAgent({ agent: state.agent });
  grow(growth, 0, facts);
  return facts;
}
