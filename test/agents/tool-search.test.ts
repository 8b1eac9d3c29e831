import { z } from 'zod';
import { type AgentDefinition, defineAgent } from '../../src/agents';
import { createToolProvider, createToolset, defineTool } from '../../src/tools';
import { callOf, hostWith } from '../tools/tool-host';

const tools = (count: number, prefix: string, description = 'Does.') =>
  Array.from({ length: count }, (_, n) => defineTool({ name: `${prefix}_${n}`, description, input: z.object({}), effect: 'pure' }));
const define = (more: Partial<AgentDefinition>) => defineAgent({ name: 'clerk', model: 'openai/gpt-5', instructions: 'Work.', ...more });
/** The names that are sent, without numbers: each with how many there are. */
async function sent(more: Partial<AgentDefinition>) {
  const specs = (await define(more).toolsFor({ threadId: 't-1' })).specs();
  const counts: Record<string, number> = {};
  for (const { name } of specs) counts[name.replace(/_\d+$/, '')] = (counts[name.replace(/_\d+$/, '')] ?? 0) + 1;
  return counts;
}
const [own, few, many] = [tools(12, 'own'), createToolset(tools(88, 'set')), createToolset(tools(89, 'set'))];

describe('which tools an agent sends', () => {
  test('up to 100 tools are all sent; with more, only those that are in the list one by one', async () => {
    expect(await sent({ tools: [...own, few] })).toEqual({ own: 12, set: 88 });
    expect(await sent({ tools: [...own, many] })).toEqual({ own: 12, find_tools: 1 });
    expect(await sent({ tools: [...own, createToolProvider({ name: 'p', tools: () => many.list() })] })).toEqual({
      own: 12,
      find_tools: 1,
    });
  });

  test('fewer tools are searched, too, if they are long', async () => {
    const long = createToolset(tools(30, 'set', 'x'.repeat(5_000)));
    expect(await sent({ tools: [...own, long] })).toEqual({ own: 12, find_tools: 1 });
    expect(await sent({ tools: [...own, long], toolSearch: { threshold: 50 } })).toEqual({ own: 12, set: 30 });
  });

  test('all are searched if they are all of one kind, or if those in the list alone are too many', async () => {
    expect(await sent({ tools: tools(101, 'own') })).toEqual({ find_tools: 1 });
    expect(await sent({ tools: createToolset(tools(101, 'set')) })).toEqual({ find_tools: 1 });
    expect(await sent({ tools: () => tools(101, 'made') })).toEqual({ find_tools: 1 });
    expect(await sent({ tools: [...tools(101, 'own'), few] })).toEqual({ find_tools: 1 });
    expect(await sent({ tools: own, toolSearch: true })).toEqual({ find_tools: 1 });
  });

  test('toolSearch turns it on and off, and chooses what is always sent', async () => {
    expect(await sent({ tools: [...own, many], toolSearch: false })).toEqual({ own: 12, set: 89 });
    expect(await sent({ tools: [...own, few], toolSearch: true })).toEqual({ own: 12, find_tools: 1 });
    expect(await sent({ tools: [...own, few], toolSearch: { threshold: 99 } })).toEqual({ own: 12, find_tools: 1 });
    expect(await sent({ tools: [...own, few], toolSearch: { threshold: 0, always: ['own_1', 'set_2'] } })).toEqual({
      own: 1,
      set: 1,
      find_tools: 1,
    });
    expect(await sent({ tools: own, toolSearch: { threshold: 0, always: own.map(({ name }) => name) } })).toEqual({ own: 12 });
  });

  test('the tool done and tools that read outputs are always sent, before those that were found', async () => {
    const [read] = tools(1, 'read');
    const box = await define({ tools: many, toolSearch: true, stop: 'done-tool' }).toolsFor({
      threadId: 't-1',
      outputTools: read ? [read] : [],
    });
    const brought = [{ name: 'brought', description: 'Of the thread.', parameters: {} }];
    const names = (loaded: string[]) => box.specs(brought, { loaded }).map(({ name }) => name);
    expect(names([])).toEqual(['read_0', 'done', 'find_tools', 'brought']);
    expect(names(['set_7', 'gone', 'own_1', 'set_3', 'done'])).toEqual(['read_0', 'done', 'find_tools', 'brought', 'set_7', 'set_3']);
  });

  test('only what is sent counts toward the window of the model', () => {
    const context = { windowTokens: 8_000, reserveTokens: 1_000 };
    const long = tools(30, 'own', 'x'.repeat(5_000));
    expect(() => define({ tools: long, context, toolSearch: false })).toThrow('the instructions and tools take about');
    expect(() => define({ tools: long, context })).not.toThrow();
  });
});

test('a search that finds nothing names the providers that failed', async () => {
  const broken = createToolProvider({ name: 'crm', tools: () => Promise.reject(new Error('crm is down')) });
  const box = await define({ tools: [many, broken], toolSearch: true }).toolsFor({ threadId: 't-1' });
  const { outcome } = await box.execute(callOf('find_tools', { query: 'customer' }), hostWith());
  expect(outcome.content).toMatch(/^No tool matches\. .*those of the provider 'crm' \(crm is down\)\.$/);
});

test.each([
  [{ threshold: -1 }, 'toolSearch.threshold'],
  [{ limit: 0 }, 'toolSearch.limit'],
  [{ limit: 101 }, 'toolSearch.limit'],
  [{ always: 'own_1' }, 'toolSearch.always'],
  [{ treshold: 5 }, "toolSearch.treshold: is not known; did you mean 'threshold'?"],
  [{ always: ['own_1', 'nobody'] }, 'toolSearch.always: the agent has no tool "nobody"'],
  [null, 'toolSearch'],
  ['on', 'toolSearch'],
])('the option %j is refused with what is wrong', (toolSearch, problem) => {
  expect(() => define({ tools: own, toolSearch: toolSearch as never })).toThrow(problem);
});

test('a tool of the agent that is called find_tools is refused only if tools are searched', () => {
  const mine = defineTool({ name: 'find_tools', description: 'Mine.', input: z.object({}) });
  expect(() => define({ tools: [mine] })).not.toThrow();
  expect(() => define({ tools: [mine], toolSearch: true })).toThrow(
    "Two tools are named 'find_tools'; an agent with tool search has a built-in tool of that name. Rename yours, or set toolSearch: false.",
  );
});
