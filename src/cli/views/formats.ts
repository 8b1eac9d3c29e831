import { type AgentEvent, isDurable } from '../../core/event';
import { agentbEvents } from '../../projections/agentb/agentb';
import { baseagentLines } from '../../projections/baseagent/baseagent';
import { codeliaNotifications } from '../../projections/codelia/codelia';
import { oneringaiEvents } from '../../projections/oneringai/oneringai';
import type { Projection } from '../../projections/projection';
import type { Format } from './format-names';
import { Styled, styled } from './styled';

/** What is known of the thread before its events are read. */
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
 * Converts events to JSON lines in the format of a system. Pass all events, also with `from`: the output for an event depends on the events before it.
 */
export function createLines(format: Format, { from = 1, ...about }: About & { from?: number } = {}): (event: AgentEvent) => Styled {
  const projection = projections[format](about);
  let seen = from <= 1;
  return (event) => {
    const lines = projection.push(event);
    seen ||= isDurable(event) && event.seq >= from;
    return Styled.join(seen ? lines.map((line) => styled`${Styled.json(line)}\n`) : []);
  };
}
