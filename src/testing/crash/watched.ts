import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Context } from '@temporalio/activity';
import type { Agent } from '../../agents';
import type { ModelProvider } from '../../models/model';
import type { Models } from '../../models/registry';
import type { ToolHost } from '../../tools/running/run-within';
import type { Toolbox } from '../../tools/running/toolbox';
import type { Mark } from './marks';

/** Counts the calls of tools that are under way. */
export interface Calls {
  running: number;
}

/**
 * The agent with a mark before and after each call of a tool and each compensation. Each thread has a folder of its own in the worker's workspace,
 * because the same conversation takes place many times at once.
 */
export function watchedAgent(agent: Agent, mark: Mark, calls: Calls): Agent {
  const own = (host: ToolHost): ToolHost => (agent.workspace === undefined ? { ...host, workspace: ownFolder(host) } : host);
  const toolsFor: Agent['toolsFor'] = async (wanted) => watchedToolbox(await agent.toolsFor(wanted), { mark, calls, own });
  return Object.create(agent, { toolsFor: { value: toolsFor, enumerable: true } }) as Agent;
}

function ownFolder({ workspace, threadId }: ToolHost): string {
  const folder = join(workspace, threadId);
  mkdirSync(folder, { recursive: true });
  return folder;
}

interface Watching {
  mark: Mark;
  calls: Calls;
  own: (host: ToolHost) => ToolHost;
}

function watchedToolbox(toolbox: Toolbox, { mark, calls, own }: Watching): Toolbox {
  const watch = async <T>(threadId: string, what: string, work: () => Promise<T>): Promise<T> => {
    calls.running += 1;
    try {
      await mark(threadId, `${what} begins`);
      const ended = await work();
      await mark(threadId, `${what} ended`);
      return ended;
    } finally {
      calls.running -= 1;
    }
  };
  return {
    ...toolbox,
    execute: (call, host) => watch(host.threadId, `call ${call.id}`, () => toolbox.execute(call, own(host))),
    probe: (call, host) => toolbox.probe(call, own(host)),
    compensate: (call, output, host) => watch(host.threadId, `compensation ${call.id}`, () => toolbox.compensate(call, output, own(host))),
  };
}

/** Every model by name, answered by one provider, with a mark before and after each call. */
export function watchedModels(provider: ModelProvider, mark: Mark): Models {
  const watched: ModelProvider = {
    async call(request, options) {
      const threadId = Context.current().info.workflowExecution?.workflowId ?? '';
      await mark(threadId, 'model call begins');
      const answer = await provider.call(request, options);
      await mark(threadId, 'model call ended');
      return answer;
    },
  };
  return {
    resolve(name) {
      const [, providerName = 'openai', model = name] = /^([^/]+)\/(.+)$/.exec(name) ?? [];
      return { provider: watched, model, providerName, family: model };
    },
  };
}
