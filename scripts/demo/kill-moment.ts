import type { AgentEvent } from '../../src/core/event';

/** The model's words on the screen before the kill, so that whoever watches sees something being lost. */
const charactersSeen = 90;
/** A model that says nothing before it calls a tool is killed this long after it was asked. */
const silentMs = 900;
/** And one that said a little and then falls silent, this long after its last word. */
const quietMs = 2_500;

/**
 * Fires `kill` once, in the middle of a model call after the first command has run: a moment at which something has been done that must
 * not be done again. Give it every event.
 */
export function killMoment(kill: () => void): { event(event: AgentEvent): void; stop(): void } {
  let ranCommand = false;
  let fired = false;
  let timer: NodeJS.Timeout | undefined;
  const fire = () => {
    clearTimeout(timer);
    if (fired) return;
    fired = true;
    kill();
  };
  return {
    event(event) {
      if (event.type === 'agent.tool.execution.completed' && event.data.name === 'shell') ranCommand = true;
      if (!ranCommand || fired) return;
      if (event.type === 'thread.message.created' && event.data.inProgress) timer = setTimeout(fire, silentMs);
      if (event.type === 'thread.message.completed') clearTimeout(timer);
      if (event.type === 'thread.message.delta') {
        clearTimeout(timer);
        if ((event.data.contentChunk ?? '').length >= charactersSeen) fire();
        else timer = setTimeout(fire, quietMs);
      }
    },
    stop: () => clearTimeout(timer),
  };
}
