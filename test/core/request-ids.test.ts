import fc from 'fast-check';
import { followedBefore, identify, noteRequest, type RequestMark } from '../../src/core/request-ids';
import type { ThreadState } from '../../src/core/state';
import { Story } from './story';

function markOf(name: string, payload: unknown, updateId?: string): RequestMark {
  const identified = identify(name, payload, updateId);
  if (!identified.ok || !identified.request.mark) throw new Error(`no id in ${JSON.stringify(payload)}`);
  return identified.request.mark;
}
const fresh = (): ThreadState => structuredClone(new Story().state);
const known = (state: ThreadState, mark: RequestMark) => {
  const before = followedBefore(state, mark);
  return before.ok ? before.request : before.reason;
};

const names = fc.constantFrom('pause', 'cancel', 'approve');
const ids = fc.stringMatching(/^[\w.:-]{1,12}$/);
const requests = fc.uniqueArray(fc.record({ name: names, id: ids, by: fc.string() }), {
  maxLength: 40,
  selector: ({ name, id }) => `${name} ${id}`,
});

test('a request that was carried out is known by its name and id, in a state that continue-as-new carries over', () => {
  fc.assert(
    fc.property(requests, (all) => {
      const before = fresh();
      for (const [i, { name, id, by }] of all.entries()) noteRequest(before, markOf(name, { id, by }), i + 1);
      const state: ThreadState = JSON.parse(JSON.stringify(before));
      expect(state).toEqual(before);
      all.forEach(({ name, id, by }, i) => {
        expect(known(state, markOf(name, { by, id }))).toMatchObject({ seq: i + 1 });
        expect(known(state, markOf(name, { id, by: `${by}!` }))).toMatch(/was given to another/);
        expect(known(state, markOf('resume', { id, by }))).toBeUndefined();
      });
    }),
  );
});

test('the content is the same whatever the order of its keys, and another for any other value', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue()), (a, b) => {
      const without = ({ id: _, ...rest }: Record<string, unknown>) => rest;
      const reversed = Object.fromEntries(Object.entries(a).reverse());
      expect(markOf('pause', { ...reversed, id: 'x' })).toEqual(markOf('pause', { id: 'x', ...without(a) }));
      const equal = JSON.stringify(sorted(without(a))) === JSON.stringify(sorted(without(b)));
      expect(markOf('pause', { ...a, id: 'x' }).digest === markOf('pause', { ...b, id: 'x' }).digest).toBe(equal);
    }),
  );
});

test('the content of a request is not serialized before it is carried out, or its id is known', () => {
  const written = jest.fn(() => 'x');
  const mark = markOf('approve', { id: 'a', toolCallId: { toJSON: written } });
  const state = fresh();
  expect(known(state, mark)).toBeUndefined();
  expect(written).not.toHaveBeenCalled();
  noteRequest(state, mark, 1);
  expect(known(state, mark)).toMatchObject({ seq: 1 });
  expect(written).toHaveBeenCalledTimes(1);
});

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}

test('the newest 1,000 are remembered, in less than 210 KB even if all ids have the maximum length', () => {
  const state = fresh();
  const id = (n: number) => String(n).padStart(128, 'x');
  for (let n = 1; n <= 1_500; n++) noteRequest(state, markOf('submitToolOutputs', { id: id(n) }), n, id(n));
  expect(Object.keys(state.requests)).toHaveLength(1_000);
  expect(known(state, markOf('submitToolOutputs', { id: id(500) }))).toBeUndefined();
  expect(known(state, markOf('submitToolOutputs', { id: id(501) }))).toMatchObject({ seq: 501 });
  expect(JSON.stringify(state.requests).length).toBeLessThan(210_000);
});

test('an update is known by its own id if its payload has none, and by a digest of an id that is not valid', () => {
  expect(markOf('pause', { reason: 'x' }, 'u1').key).toBe('pause:u1');
  expect(markOf('pause', { reason: 'x', id: 'p1' }, 'u1')).toEqual(markOf('pause', { reason: 'x', id: 'p1' }));
  expect(markOf('pause', 'in words', 'u1').key).toBe('pause:u1');
  const odd = markOf('pause', {}, `\ud83d${'long '.repeat(200)}`);
  expect(odd.key).toMatch(/^pause:#\w{1,13}$/);
  expect(identify('pause', {})).toEqual({ ok: true, request: { content: {} } });
});

test.each([[''], [7], ['with space'], ['x'.repeat(129)], [{}], ['é']])('refuses the id %j and says what one is', (id) => {
  expect(identify('pause', { id }, 'u1')).toMatchObject({
    ok: false,
    reason: expect.stringMatching(/^pause: `id` must be 1 to 128 letters, digits or \. _ : -; it is /),
  });
});
