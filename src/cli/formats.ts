import type { AgentEvent } from '../core/event';
import { agentbEvents } from '../core/projections/agentb';
import { baseagentLines } from '../core/projections/baseagent';
import { codeliaNotifications } from '../core/projections/codelia';
import { oneringaiEvents } from '../core/projections/oneringai';
import type { Projection } from '../core/projections/projection';
import type { Format } from './format-names';
import { Styled, styled } from './styled';

/** What is known of the thread before its events tell it. */
export interface About {
  model?: string;
  contextWindow?: number;
}

const projections: Record<Format, (about: About) => Projection<unknown>> = {
  longhaul: () => ({ push: (event) => [event] }),
  agentb: ({ model }) => agentbEvents(model?.includes('/') ? { provider: model.slice(0, model.indexOf('/')) } : {}),
  baseagent: () => baseagentLines(),
  codelia: (about) => codeliaNotifications(about),
  oneringai: ({ model }) => oneringaiEvents({ ...(model && { model }) }),
};

/**
 * Events to lines of JSON in the words of a system, as text to print. A reader who wants them from an event on gives all of them: the
 * words for one depend on those before it.
 */
export function createLines(format: Format, { from = 1, ...about }: About & { from?: number } = {}): (event: AgentEvent) => Styled {
  const projection = projections[format](about);
  let seen = from <= 1;
  return (event) => {
    const lines = projection.push(event);
    seen ||= 'seq' in event && event.seq >= from;
    return Styled.join(seen ? lines.map((line) => styled`${Styled.json(line)}\n`) : []);
  };
}
