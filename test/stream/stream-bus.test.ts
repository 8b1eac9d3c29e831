import type { EphemeralEvent } from '../../src/core/event';
import { inProcessBus, type StreamBus, type StreamItem } from '../../src/stream/stream-bus';

const grown = (threadId: string): StreamItem => ({ kind: 'grown', threadId });
const progress = (threadId: string): StreamItem => ({
  kind: 'event',
  event: {
    type: 'agent.tool.progress',
    timestamp: '',
    threadId,
    runId: null,
    data: { toolCallId: 'c', name: 't', attempt: 1, message: 'm' },
  } as EphemeralEvent,
});

test('a reader gets the items of its thread, in order, and those of no other', () => {
  const bus = inProcessBus();
  const got: StreamItem[] = [];
  bus.subscribe('a', (item) => got.push(item));
  bus.publish(grown('a'));
  bus.publish(progress('b'));
  bus.publish(progress('a'));
  expect(got).toEqual([grown('a'), progress('a')]);
});

test('a reader that throws affects neither the publisher nor the other readers', () => {
  const bus = inProcessBus();
  const got: StreamItem[] = [];
  bus.subscribe('a', () => {
    throw new Error('a bad reader');
  });
  bus.subscribe('a', (item) => got.push(item));
  expect(() => bus.publish(grown('a'))).not.toThrow();
  expect(got).toHaveLength(1);
});

test('a reader that stopped gets nothing more, even if others are added and removed', () => {
  const bus = inProcessBus();
  const first: StreamItem[] = [];
  const second: StreamItem[] = [];
  const stopFirst = bus.subscribe('a', (item) => first.push(item));
  stopFirst();
  const stopSecond = bus.subscribe('a', (item) => second.push(item));
  // A second stop of the first must not take the new reader's place away.
  stopFirst();
  bus.publish(grown('a'));
  expect(first).toHaveLength(0);
  expect(second).toHaveLength(1);
  stopSecond();
  bus.publish(grown('a'));
  expect(second).toHaveLength(1);
});

const delta = (data: Partial<EphemeralEvent<'thread.message.delta'>['data']>): StreamItem => ({
  kind: 'event',
  event: {
    type: 'thread.message.delta',
    timestamp: '',
    threadId: 'a',
    runId: null,
    data: { messageId: 'm', turn: 1, attempt: 1, index: 0, ...data },
  },
});

function heardBy(bus: StreamBus): unknown[] {
  const got: unknown[] = [];
  bus.subscribe('a', (item) => got.push(item.kind === 'event' ? item.event.data : item.kind));
  return got;
}

test('a late reader in the middle of a step gets the text so far, and then the additions', () => {
  const bus = inProcessBus();
  bus.publish(delta({ reasoningChunk: 'hm' }));
  bus.publish(delta({ index: 1, contentChunk: 'one ' }));
  bus.publish(delta({ index: 2, contentChunk: 'two ' }));
  bus.publish(progress('a'));
  const got = heardBy(bus);
  bus.publish(delta({ index: 3, contentChunk: 'three' }));
  expect(got).toEqual([
    { messageId: 'm', turn: 1, attempt: 1, index: 2, contentChunk: 'one two ', reasoningChunk: 'hm', snapshot: true },
    { toolCallId: 'c', name: 't', attempt: 1, message: 'm' },
    { messageId: 'm', turn: 1, attempt: 1, index: 3, contentChunk: 'three' },
  ]);
});

test('another attempt starts the text from the beginning, and late text of an earlier one is not added', () => {
  const bus = inProcessBus();
  bus.publish(delta({ contentChunk: 'void' }));
  bus.publish(delta({ attempt: 2, contentChunk: 'again', restart: true }));
  bus.publish(delta({ index: 1, contentChunk: 'void, too' }));
  expect(heardBy(bus)).toMatchObject([{ attempt: 2, contentChunk: 'again', restart: true, snapshot: true }]);
});

test('nothing is kept of a step that has ended, and of a long text only its end', () => {
  const bus = inProcessBus();
  bus.publish(delta({ contentChunk: 'x'.repeat(40_000) }));
  bus.publish(delta({ contentChunk: 'end' }));
  bus.publish(progress('a'));
  bus.publish({ kind: 'grown', threadId: 'a', ended: 'c' });
  const [kept, ...others] = heardBy(bus) as { contentChunk: string }[];
  expect(others).toEqual([]);
  const { length } = kept?.contentChunk ?? '';
  expect(length).toBeGreaterThanOrEqual(16_000);
  expect(length).toBeLessThanOrEqual(32_000);
  expect(kept?.contentChunk.endsWith('xend')).toBe(true);
  bus.publish({ kind: 'grown', threadId: 'a', ended: 'm' });
  expect(heardBy(bus)).toEqual([]);
});
