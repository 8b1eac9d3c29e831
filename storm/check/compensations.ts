import { tools } from '../tool-facts';
import type { Evidence, LogEvent, Violation } from './evidence';
import { terminal } from './logs';

/** How a run ends that is compensated. */
const undone = ['thread.run.failed', 'thread.run.cancelled', 'thread.run.expired'];

/** Statuses of calls that never ran, although they may have a `started` event: a person settled them as not done. */
const neverRan = ['skipped', 'denied', 'rejected'];

/** Calls of `saga` tools that were not compensated although their run did not succeed, that were although it did, or that were twice. */
export function wrongCompensations({ threads, effects }: Evidence): Violation[] {
  return threads.flatMap(({ id, log = [] }) => {
    const found: Violation[] = [];
    const say = (rule: string, what: string) => found.push({ rule, thread: id, what });
    for (const { call, name, run } of sagasIn(log)) {
      const end = log.find(({ runId, type }) => runId === run && terminal.includes(type));
      if (!end) continue;
      const times = effects.filter((one) => one.thread === id && one.call === call && one.tool === name).length;
      const told = log.filter(({ type, data }) => type === 'agent.tool.compensation.completed' && data.toolCallId === call).length;
      const which = `${name} ${call} of a run that ended with ${end.type}`;
      if (times > 1) say('effect doubled', `${which} was compensated ${times} times, with different keys`);
      if (undone.includes(end.type) && (times === 0 || told !== 1))
        say('not compensated', `${which} was compensated ${times} times, and the log has that ${told} times`);
      if (!undone.includes(end.type) && times + told > 0) say('compensated in vain', which);
    }
    return found;
  });
}

interface Saga {
  call: string;
  name: string;
  run: string | null;
}

/** The calls of `saga` tools that began and may have been carried out. */
function sagasIn(log: readonly LogEvent[]): Saga[] {
  const began = new Map<string, Saga>();
  for (const { type, runId, data } of log) {
    const call = String(data.toolCallId);
    const name = String(data.name);
    if (type === 'agent.tool.execution.started' && tools[name]?.effect === 'saga') began.set(call, { call, name, run: runId });
    const isOutcome = type === 'agent.tool.execution.completed' || type === 'agent.tool.background.completed';
    if (isOutcome && neverRan.includes(String(data.status))) began.delete(call);
  }
  return [...began.values()];
}
