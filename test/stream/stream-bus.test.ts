import type { EphemeralEvent } from '../../src/core/event';
import { inProcessBus, type StreamItem } from '../../src/stream/stream-bus';

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

test('a reader gets the items of its thread, in order, and none of another', () => {
  const bus = inProcessBus();
  const got: StreamItem[] = [];
  bus.subscribe('a', (item) => got.push(item));
  bus.publish(grown('a'));
  bus.publish(progress('b'));
  bus.publish(progress('a'));
  expect(got).toEqual([grown('a'), progress('a')]);
});

test('a reader that throws takes nothing from the publisher or from the other readers', () => {
  const bus = inProcessBus();
  const got: StreamItem[] = [];
  bus.subscribe('a', () => {
    throw new Error('a bad reader');
  });
  bus.subscribe('a', (item) => got.push(item));
  expect(() => bus.publish(grown('a'))).not.toThrow();
  expect(got).toHaveLength(1);
});

test('a reader that stopped gets nothing more, also when others come and go', () => {
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
