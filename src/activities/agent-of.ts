import { ApplicationFailure } from '@temporalio/activity';
import type { Agent } from '../agents/define-agent';
import type { Agents } from '../agents/registry';
import { failureTypes } from '../contract/activities';
import { addWaste } from '../core/waste';
import type { Step } from './step';

/**
 * The server hands a task to whoever has waited longest, so after a deploy the older workers are asked first, once for each of their polls:
 * that is got over fast. Whoever waits longer waits for a deploy.
 */
const quickTries = 20;
const quickWaitMs = 250;
const longestWaitMs = 5_000;

interface Asking extends Partial<Pick<Step, 'attempt' | 'before'>> {
  /** The namespace has our search attributes. Told with the failure, because a thread without an agent has no facts to learn it from. */
  searchAttributes?: boolean;
}

/**
 * The agent of a step, asked for before the step begins anything: where this worker does not have it, another one takes the step up.
 * Throws the `UnknownAgent` failure, whose words name the agents that this worker has.
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
      // This attempt is no failure of the step's own, and cost nothing: what was counted before it is counted on.
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
