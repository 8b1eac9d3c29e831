import { ApplicationFailure } from '@temporalio/activity';
import type { Agent } from '../../agents/define-agent';
import type { Agents } from '../../agents/registry';
import { failureTypes } from '../../contract/activities';
import { addWaste } from '../../core/waste';
import type { Step } from './step';

/**
 * The server gives a task to the poll that has waited longest, so after a deploy the older workers get it first, once for each of their polls.
 * These first tries are fast. A step that still has no agent then waits for a deploy.
 */
const quickTries = 20;
const quickWaitMs = 250;
const longestWaitMs = 5_000;

interface Asking extends Partial<Pick<Step, 'attempt' | 'before'>> {
  /** The namespace has our search attributes. Included in the failure, because a thread without an agent has no facts that say so. */
  searchAttributes?: boolean;
}

/**
 * Returns the agent of a step. Called before the step begins anything, so that another worker can take it. Throws `UnknownAgent` if this worker
 * does not have the agent; the message names the agents that it has.
 */
export function agentOf(agents: Agents, name: string, { attempt = 1, before, searchAttributes }: Asking = {}): Agent {
  try {
    return agents.get(name);
  } catch (error) {
    const { failed, throws, wasted, spending } = before ?? {};
    const cost = addWaste(wasted, spending);
    throw ApplicationFailure.create({
      message: (error as Error).message,
      type: failureTypes.unknownAgent,
      nextRetryDelay: Math.min(longestWaitMs, quickWaitMs * 2 ** Math.min(Math.max(0, attempt - quickTries), 10)),
      // This attempt is not a failure of the step and cost nothing, so it passes on the counts of earlier attempts.
      details: [
        {
          attempt,
          ...(failed && { attempts: failed }),
          ...(throws && { throws }),
          ...(cost && { wasted: cost }),
          ...(searchAttributes && { searchAttributes }),
        },
      ],
    });
  }
}
