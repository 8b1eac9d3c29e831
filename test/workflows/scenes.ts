import type { Thread } from '../../src/client';
import { type DurableEvent, type DurableEventType, isDurable, isTerminal } from '../../src/core/event';
import { type Message, toolCallsOf } from '../../src/core/message';
import { byTurn, fail, type RecordedRequest, type Reply, type ScriptRequest, say, type WireMessage } from '../../src/testing/model-server';
import { collect, type Rig } from '../support/rig';

type SceneScript = Reply[] | ((request: ScriptRequest) => Reply | Promise<Reply>);

/**
 * Many scripts behind one model server, told apart by the first thing the user says: a file's tests then share one worker.
 * `scene` returns the input to start the thread with.
 */
export function scenes() {
  const known = new Map<string, Record<'turn' | 'summary', (request: ScriptRequest) => Reply | Promise<Reply>>>();
  return {
    script(request: ScriptRequest): Reply | Promise<Reply> {
      const summarized = summarizedIn(request.input);
      const replies = known.get(summarized ?? request.input);
      if (!replies) return fail(400, { message: `no scene begins with "${request.input}"` });
      return summarized === undefined ? replies.turn(request) : replies.summary(request);
    },
    /** `summary`: the replies to requests for a summary, if compactions make any. */
    scene(script: SceneScript, title = 'scene', summary: (request: ScriptRequest) => Reply | Promise<Reply> = () => brief): string {
      const input = `${title} ${known.size + 1}`;
      known.set(input, { turn: Array.isArray(script) ? byTurn(script) : script, summary });
      return input;
    },
  };
}

const brief = say('<retain>\n- the answer is 42\n</retain>\n<summary>\nA part of the work is done.\n</summary>');

/** What the user said first in a transcript that the model is to summarize; undefined for other requests. */
function summarizedIn(text: string): string | undefined {
  return /<transcript>\n\[user\]\n(.*)/.exec(text)?.[1];
}

/** What the model was asked in one scene, oldest first, without requests for summaries. */
export function requestsOf(rig: Rig, input: string): RecordedRequest[] {
  return rig.model.requests.filter(({ body }) => firstWords(body.messages) === input);
}

/** The requests for summaries in one scene, oldest first. */
export function summariesOf(rig: Rig, input: string): RecordedRequest[] {
  return rig.model.requests.filter(({ body }) => summarizedIn(firstWords(body.messages)) === input);
}

function firstWords(messages: readonly WireMessage[]): string {
  return textOf(messages.find(({ role }) => role === 'user'));
}

export function textOf(message: WireMessage | undefined): string {
  const content = message?.content ?? '';
  return typeof content === 'string' ? content : content.map((part) => part.text ?? '').join('');
}

/** The durable events to the end of the run; checks on the way that the thread kept its invariants. */
export async function story(thread: Thread): Promise<DurableEvent[]> {
  const events = (await collect(thread.events({ live: false }))).filter(isDurable);
  expectInvariants(events, await thread.messages(), thread.id);
  return events;
}

/** I2 and I3, for a thread whose runs are all over. */
export function expectInvariants(events: readonly DurableEvent[], messages: readonly Message[], threadId: string): void {
  expect(events.map((event) => event.seq)).toEqual(events.map((_, i) => i + 1));
  for (const event of events) {
    expect(event).toMatchObject({ threadId, data: expect.any(Object) });
    expect(new Date(event.timestamp).toISOString()).toBe(event.timestamp);
  }
  for (const runId of new Set(events.map((event) => event.runId).filter((id) => id !== null))) {
    const ofRun = events.filter((event) => event.runId === runId);
    expect(ofRun.filter(isTerminal)).toHaveLength(1);
    expect(isTerminal(ofRun.at(-1) as DurableEvent)).toBe(true);
  }
  expectPaired(messages);
}

/** Every call has exactly one result, in call order, right behind its answer; no result is without its call. */
export function expectPaired(messages: readonly Message[]): void {
  let owed: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      expect(message.toolCallId).toBe(owed.shift());
    } else {
      expect(owed).toEqual([]);
      if (message.role === 'assistant') owed = toolCallsOf(message.content).map((call) => call.id);
    }
  }
  expect(owed).toEqual([]);
}

export function typesOf(events: readonly { type: string }[]): string[] {
  return events.map((event) => event.type);
}

/** The events of one type, as that type. */
export function ofType<T extends DurableEventType>(events: readonly { type: string }[], type: T): DurableEvent<T>[] {
  return events.filter((event) => event.type === type) as unknown as DurableEvent<T>[];
}

export function roles(messages: readonly Message[]): string[] {
  return messages.map((message) => message.role);
}

/** A gate that a script or a tool waits at until the test opens it. */
export function gate(): { opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

/** What a rejected promise was rejected with. */
export async function thrownBy(promise: Promise<unknown>): Promise<Error & { code?: string; runCode?: string }> {
  return promise.then(
    (value) => {
      throw new Error(`expected a rejection, got ${JSON.stringify(value)}`);
    },
    (error) => error,
  );
}
