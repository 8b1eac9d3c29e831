import { z } from 'zod';
import { defineTool } from '../../src/tools/defining/define-tool';
import { createToolset } from '../../src/tools/defining/toolset';

const named = (name: string, description = `${name}.`) => defineTool({ name, description, input: z.object({}) });
const names = (set: { list(): readonly { name: string }[] }) => set.list().map(({ name }) => name);

test('[A67] a tool with an existing name replaces that tool; removing an unknown one does nothing', () => {
  const set = createToolset([named('a'), named('b')]);
  const better = named('a', 'A better one.');
  set.add(better);
  expect(names(set)).toEqual(['a', 'b']);
  expect(set.list()[0]).toBe(better);
  set.remove('c');
  expect(names(set)).toEqual(['a', 'b']);
});

test('[A68] adds, removes and replaces several tools at a time', () => {
  const set = createToolset();
  expect(set.list()).toEqual([]);
  set.add(named('a'), named('b'), named('c'));
  set.remove('a', 'c');
  expect(names(set)).toEqual(['b']);
  set.set([named('x'), named('y')]);
  expect(names(set)).toEqual(['x', 'y']);
});

test('its list stays the same until it changes, and can not be changed from outside', () => {
  const set = createToolset([named('a')]);
  const list = set.list();
  expect(set.list()).toBe(list);
  expect(() => (list as unknown[]).push(1)).toThrow(TypeError);
  set.add(named('b'));
  expect(set.list()).not.toBe(list);
  expect(list).toHaveLength(1);
});

test('a value that defineTool did not create is refused, and nothing changes', () => {
  const set = createToolset([named('a')]);
  expect(() => set.add(named('b'), { name: 'c' } as never)).toThrow('Toolset.add: tools[1] was not made by defineTool.');
  expect(() => set.set('b' as never)).toThrow('Toolset.set: tools must be a list');
  expect(() => createToolset([null] as never)).toThrow('createToolset: tools[0]');
  expect(names(set)).toEqual(['a']);
});
