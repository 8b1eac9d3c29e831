import type { AgentEvent } from '../../src/core/event';

/** How much of the model's text is on the screen before the kill, so that the viewer sees that something is lost. */
const charactersSeen = 90;
/** If the model streams no text before it calls a tool, the kill comes this long after the request. */
const silentMs = 900;
/** If the model streams a little text and then nothing, the kill comes this long after the last text. */
const quietMs = 2_500;

/**
 * Calls `kill` once, in the middle of a model call after the first command has run. At that moment a side effect has happened that must not
 * happen again. Pass it every event.
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
