import fc from 'fast-check';
import { bounds } from '../../src/core/bounds';
import { usedTokens } from '../../src/core/context/budget';
import { type LoadedTool, load, noteUse, type ToolSize } from '../../src/core/loaded-tools';
import { newThread, type ThreadState } from '../../src/core/state';

const size = (name: string, chars = 100): ToolSize => ({ name, chars });
const names = (tools: readonly LoadedTool[]) => tools.map(({ name }) => name);

test('new tools come after those that are loaded already, which keep their order', () => {
  const first = load([], [size('a'), size('b')], { turn: 1 });
  const second = load(first, [size('c'), size('a')], { turn: 2 });
  expect(second).toEqual([
    { name: 'a', chars: 100, since: 1, used: 2 },
    { name: 'b', chars: 100, since: 1, used: 1 },
    { name: 'c', chars: 100, since: 2, used: 2 },
  ]);
});

test('if they are too many, those that were used least recently are unloaded', () => {
  const first = noteUse(load([], [size('a'), size('b'), size('c')], { turn: 1 }), ['a'], 2);
  expect(names(load(first, [size('d')], { turn: 3, most: 3 }))).toEqual(['a', 'b', 'd']);
  expect(names(load(first, [size('d'), size('e')], { turn: 3, most: 3 }))).toEqual(['a', 'd', 'e']);
  expect(names(load(first, [size('b')], { turn: 3, most: 3 }))).toEqual(['a', 'b', 'c']);
});

test('if they are too long for a small window, fewer are loaded, and the best match may take half of the window', () => {
  expect(names(load([], [size('a', 5_000), size('b', 5_000)], { turn: 1, windowTokens: 8_000 }))).toEqual(['a']);
  expect(names(load([], [size('a', 9_000)], { turn: 1, windowTokens: 8_000 }))).toEqual(['a']);
  expect(names(load([], [size('a', 17_000)], { turn: 1, windowTokens: 8_000 }))).toEqual([]);
});

test('after any searches and calls, what is loaded is bounded, has no name twice, and has what was found last', () => {
  const name = fc.constantFrom(...'abcdefghij');
  const found = fc.uniqueArray(fc.record({ name, chars: fc.integer({ min: 1, max: 50_000 }) }), {
    selector: (one) => one.name,
    minLength: 1,
  });
  const step = fc.record({ found: fc.option(found), called: fc.array(name) });
  fc.assert(
    fc.property(fc.array(step), fc.integer({ min: 1, max: 8 }), (steps, most) => {
      let loaded: LoadedTool[] = [];
      for (const [at, { found: now, called }] of steps.entries()) {
        const before = names(loaded);
        loaded = noteUse(now ? load(loaded, now, { turn: at + 1, most }) : loaded, called, at + 1);
        expect(loaded.length).toBeLessThanOrEqual(most);
        expect(loaded.length <= 1 || loaded.reduce((sum, { chars }) => sum + chars, 0) <= bounds.loadedToolsChars).toBe(true);
        expect(new Set(names(loaded)).size).toBe(loaded.length);
        if (now) expect(names(loaded)).toContain(now[0]?.name);
        // Those that stay keep their order, so that the request begins as before.
        const stayed = before.filter((one) => names(loaded).includes(one));
        expect(names(loaded).slice(0, stayed.length)).toEqual(stayed);
        expect(JSON.parse(JSON.stringify(loaded))).toEqual(loaded);
      }
    }),
  );
});

test('tools that were found after the last answer count toward what the next model call sends, until that call is measured', () => {
  const state = newThread({ threadId: 't', agent: 'a', mode: 'one-shot', overrides: {}, queue: [] });
  const run = { turn: 3, calls: [], context: 1_000 };
  const at = (turn: number, loadedTools?: LoadedTool[]) =>
    usedTokens({ ...state, run: { ...run, turn } as unknown as ThreadState['run'], ...(loadedTools && { loadedTools }) });
  const loaded = load([], [size('a', 4_000)], { turn: 3 });
  expect(at(3)).toBe(1_000);
  expect(at(3, loaded)).toBe(2_000);
  expect(at(4, loaded)).toBe(1_000);
});
