import { readCarried } from '../../src/core/carried';
import { newThread, stateFormat } from '../../src/core/state';

const state = newThread({ threadId: 't', agent: 'a', mode: 'conversation', overrides: {}, queue: [] });
const { delivered: _, ...rest } = state;

test('a state of this format is accepted unchanged', () => {
  const carried = JSON.parse(JSON.stringify({ ...state, compact: { requestedBy: 'dana' } }));
  expect(readCarried(carried)).toEqual({ ...state, compact: { requestedBy: 'dana' } });
});

test.each([
  [{ compact: true }, { compact: {} }],
  [{ compact: false }, {}],
  [{}, {}],
])('a state of format 1 with %j becomes one of this format', (was, is) => {
  expect(readCarried({ ...rest, format: 1, delivered: 7, ...was })).toEqual({ ...state, delivered: { events: 7, compactions: 0 }, ...is });
});

test('a state of format 2 becomes one of this format', () => {
  const run = { id: 'r', turn: 3 };
  const was = {
    ...rest,
    format: 2,
    told: { events: 7, compactions: 5 },
    run: { ...run, restedMs: 40, restingSince: 9, suspendAsked: { prompt: 'p' } },
  };
  const is = { ...run, waitedMs: 40, waitingSince: 9, suspendRequested: { prompt: 'p' } };
  expect(readCarried(was)).toEqual({ ...state, delivered: { events: 7, compactions: 5 }, run: is });
  expect(readCarried({ ...rest, format: 2, told: { events: 7, compactions: 5 } })).toEqual({
    ...state,
    delivered: { events: 7, compactions: 5 },
  });
});

test.each([
  { ...state, format: stateFormat + 1 },
  { ...state, format: '1' },
  { ...state, format: 'constructor' },
  { threadId: 't' },
  null,
  7,
])('a state of a later release, or of no known format, is refused with a message: %#', (carried) => {
  expect(() => readCarried(carried)).toThrow(
    /^The state of thread "\w+" has format .*; this worker reads formats 1 to \d+\. Run a newer worker\.$/,
  );
});
