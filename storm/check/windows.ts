import { maxMessages, smallWindow } from '../tool-facts';
import type { Evidence, LogEvent, ModelLine, Violation } from './evidence';

/** Requests that the provider would reject, or that lack what the thread is about: shortening a transcript must not cause either. */
export function wrongRequests({ threads, model }: Evidence): Violation[] {
  const plans = new Map(threads.map(({ id, plan }) => [id, plan]));
  return model.flatMap((line) => {
    const plan = plans.get(line.thread);
    if (!plan) return [];
    const violation = (rule: string, what: string): Violation => ({ rule, thread: line.thread, what: `request ${line.n} ${what}` });
    const isTooLong = plan.kind === 'forgetting' && line.tokens > smallWindow.windowTokens;
    const hasTooMany = plan.agent === 'sliding' && line.saw.length > maxMessages && !line.summary;
    return [
      ...(hasTooMany ? [violation('beyond the window', `has ${line.saw.length} messages`)] : []),
      ...(isTooLong ? [violation('beyond the window', `has ${line.tokens} tokens`)] : []),
      ...(line.summary || beginsWithTask(line) ? [] : [violation('task lost', `begins with ${JSON.stringify(line.saw[0])}`)]),
      ...unanswered(line).map((id) => violation('invalid request', `has a call without a result, or a result without a call: ${id}`)),
    ];
  });
}

function beginsWithTask({ saw, thread }: ModelLine): boolean {
  return saw.find(([role]) => role === 'u')?.[1] === `Please go 0 of ${thread}.`.slice(0, 60);
}

/** Ids of calls that are not followed by their result, and of results that do not follow their call. */
function unanswered({ saw }: ModelLine): string[] {
  const wrong: string[] = [];
  let open: string[] = [];
  for (const [role, ...rest] of saw) {
    if (role === 't') {
      const id = rest[0] ?? '';
      if (!open.includes(id)) wrong.push(id);
      open = open.filter((one) => one !== id);
      continue;
    }
    wrong.push(...open);
    open = role === 'a' ? rest.slice(0, -1) : [];
  }
  return [...wrong, ...open];
}

/** Stored outputs that the model could not read. */
export function lostOutputs({ threads }: Evidence): Violation[] {
  const isLost = ({ type, data }: LogEvent) =>
    type === 'agent.tool.execution.completed' &&
    /^(read|grep)_output/.test(String(data.name)) &&
    /no stored output|is damaged/.test(String(data.output));
  return threads.flatMap(({ id, log = [] }) =>
    log
      .filter(isLost)
      .map(({ data }) => ({ rule: 'output lost', thread: id, what: `${data.toolCallId}: ${String(data.output).slice(0, 200)}` })),
  );
}
