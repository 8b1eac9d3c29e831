import type { RunState } from '../../src/core/state';
import { hasRoomForRetry, mediaRoom, roomForCall } from '../../src/workflows/call-room';
import type { ThreadContext } from '../../src/workflows/thread-context';

const outcome = (content: string) => ({ status: 'success', content });
const done = (id: number, content: string) => ({ id: `${id}`, phase: 'done', outcome: outcome(content) });
const running = (id: number) => ({ id: `${id}`, phase: 'running' });
const waiting = (id: number) => ({ id: `${id}`, phase: 'awaiting-approval' });

function room({ calls, bytes = 0, hooks = false }: { calls: object[]; bytes?: number; hooks?: boolean }) {
  const thread = {
    growth: { events: 0, bytes },
    state: { facts: hooks ? { hooks: { 'after:tool': ['h'] } } : {} },
  } as unknown as ThreadContext;
  const run = { calls } as unknown as RunState;
  const begun = new Set(calls.map((call) => (call as { id: string }).id));
  return roomForCall(thread, run, begun);
}
const each = (count: number, make: (id: number) => object) => Array.from({ length: count }, (_, id) => make(id));

test('a call begins while all running calls, and it, have room for the largest result', () => {
  expect(room({ calls: [] })).toBe('now');
  expect(room({ calls: each(8, running) })).toBe('now');
  expect(room({ calls: each(127, running) })).toBe('now');
  expect(room({ calls: each(127, running), bytes: 4_000_000 })).toBe('later');
  expect(room({ calls: each(127, waiting) })).toBe('now');
});

test('a call whose result hooks receive needs room for it twice', () => {
  expect(room({ calls: each(20, running), bytes: 4_000_000 })).toBe('now');
  expect(room({ calls: each(20, running), bytes: 4_000_000, hooks: true })).toBe('later');
});

test('a call never has room if what was written leaves none, also for characters that are long in JSON', () => {
  expect(room({ calls: [], bytes: 23_000_000 })).toBe('never');
  expect(room({ calls: each(10, (id) => done(id, 'a'.repeat(300_000))) })).toBe('now');
  expect(room({ calls: each(10, (id) => done(id, '\u0001'.repeat(300_000))), bytes: 10_000_000 })).toBe('never');
  expect(room({ calls: [running(11), ...each(10, (id) => done(id, '\u0001'.repeat(300_000)))], bytes: 10_000_000 })).toBe('later');
});

test('many calls share the room for images and files', () => {
  expect(mediaRoom({ calls: each(7, running) } as unknown as RunState)).toEqual({});
  expect(mediaRoom({ calls: each(128, running) } as unknown as RunState)).toEqual({ mediaBytes: 62_500 });
});

test('a call in the background has the room that is left if as many calls as possible run there', () => {
  expect(mediaRoom({ calls: each(1, running) } as unknown as RunState, true)).toEqual({ mediaBytes: 80_000 });
});

test('a hook repeats no call whose result might have no room', () => {
  const thread = (bytes: number) => ({ growth: { events: 0, bytes } }) as unknown as ThreadContext;
  expect([4_000_000, 20_000_000].map((bytes) => hasRoomForRetry(thread(bytes)))).toEqual([true, false]);
});
