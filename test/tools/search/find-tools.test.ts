import fc from 'fast-check';
import { z } from 'zod';
import { bounds } from '../../../src/core/bounds';
import { defineTool, openApiTools, type Tool } from '../../../src/tools';
import { createFindTools } from '../../../src/tools/search/find-tools';
import { indexTools } from '../../../src/tools/search/rank-tools';
import { wordsOf } from '../../../src/tools/search/words';
import { run } from '../tool-host';
import { largeDocument } from './many-tools';

const tool = (name: string, description: string, more: { tags?: string[]; input?: z.ZodType } = {}) =>
  defineTool({ name, description, input: z.object({}), ...more });

const github = [
  tool('issues_create', 'Create an issue in a repository.', { tags: ['issues'] }),
  tool('issues_list_comments', 'List the comments of an issue.', { tags: ['issues'] }),
  tool('pulls_merge', 'Merge a pull request.', { tags: ['pulls'], input: z.object({ commitTitle: z.string(), sha: z.string() }) }),
  tool('reposDelete', 'Delete a repository. Needs admin rights.', { tags: ['repos'] }),
  tool('actions_run_workflow', 'Trigger a workflow dispatch event.', { tags: ['actions'] }),
  tool('stars_add', 'Star a repository for the authenticated user.'),
];
const ranked = async (query: string, tools: readonly Tool[] = github) => (await indexTools(tools)).rank(query).map(({ name }) => name);
const find = async (args: object, tools: readonly Tool[] = github) => (await run(createFindTools(tools), args)).outcome;

describe('ranking', () => {
  test.each([
    ['create an issue', 'issues_create'],
    ['deleting repositories', 'reposDelete'],
    ['merge PR with commit title', 'pulls_merge'],
    ['workflows', 'actions_run_workflow'],
    ['comment', 'issues_list_comments'],
    ['repo delete', 'reposDelete'],
    ['stars_add', 'stars_add'],
    ['REPOSDELETE', 'reposDelete'],
  ])('the best match for "%s" is %s', async (query, best) => {
    expect((await ranked(query))[0]).toBe(best);
  });

  test('words of names, tags, descriptions and parameters are found, and nothing else is', async () => {
    expect(await ranked('sha')).toEqual(['pulls_merge']);
    expect(await ranked('pulls')).toEqual(['pulls_merge']);
    expect(await ranked('dispatch')).toEqual(['actions_run_workflow']);
    expect(await ranked('weather')).toEqual([]);
    expect(await ranked('…')).toEqual([]);
  });

  test('the names of nested parameters are found', async () => {
    const nested = tool('pay', 'Pays.', { input: z.object({ to: z.array(z.object({ bankAccount: z.string() })) }) });
    expect(await ranked('bank account', [...github, nested])).toEqual(['pay']);
  });

  test('tools with the same rank stay in their order', async () => {
    const same = ['b', 'a', 'c'].map((name) => tool(name, 'Reads a file.'));
    expect(await ranked('file', same)).toEqual(['b', 'a', 'c']);
  });

  test('texts without blanks between words are found by their parts', async () => {
    const weather = tool('weather', '查询城市天气预报');
    expect(await ranked('天气', [...github, weather])).toEqual(['weather']);
  });

  test('names are divided into words, and endings do not matter', () => {
    expect(wordsOf('listOpenHTTPRequests2')).toEqual(['list', 'open', 'http', 'request', '2'].map((word) => wordsOf(word)[0]));
    expect(wordsOf('deletes deleted deleting')).toEqual(Array(3).fill(wordsOf('delete')[0]));
    expect(wordsOf('status address policies')).toEqual(['status', 'address', 'policy']);
  });
});

describe('find_tools', () => {
  test('shows and loads the best matches, and tells the names of others', async () => {
    const many = Array.from({ length: 25 }, (_, n) => tool(`read_${n}`, 'Reads a file.', { tags: ['files'] }));
    const { content, found } = await find({ query: 'file' }, many);
    expect(found?.map(({ name }) => name)).toEqual(many.slice(0, bounds.foundTools).map(({ name }) => name));
    expect(found?.[0]?.chars).toBe(
      JSON.stringify({ name: 'read_0', description: 'Reads a file.', parameters: many[0]?.parameters }).length,
    );
    expect(content).toContain('- read_9 [files]: Reads a file.\nNot loaded, but they match too: read_10, ');
    expect(content).toContain('read_24');
  });

  test('loads no more than fits, but always the best match', async () => {
    const large = (name: string, chars: number) => tool(name, `file ${'x'.repeat(chars)}`);
    const names = (await find({ query: 'a file' }, [large('a', 50_000), large('b', 10), large('c', 20)])).found?.map(({ name }) => name);
    expect(names).toEqual(['a']);
    const more = (await find({ query: 'file' }, [large('b', 10), large('a', 50_000), large('c', 20)])).found?.map(({ name }) => name);
    expect(more).toEqual(['b', 'c']);
  });

  test('a tag selects, and its tools are named if no word matches', async () => {
    expect((await find({ query: 'repository', tag: 'Repos' })).found?.map(({ name }) => name)).toEqual(['reposDelete']);
    const { content, found } = await find({ query: 'weather', tag: 'issues' });
    expect(content).toContain('These tools have it: issues_create, issues_list_comments.');
    expect(found).toBeUndefined();
  });

  test('without a match, it says which tags there are, and loads nothing', async () => {
    const { content, found, status } = await find({ query: 'weather' });
    expect(content).toBe(
      'No tool matches. Their tags: issues (2), pulls (1), repos (1), actions (1). Try other words, such as what is changed or looked up.',
    );
    expect([found, status]).toEqual([undefined, 'success']);
  });

  test('its description says how many tools there are, and their tags', () => {
    expect(createFindTools(github).description).toContain("There are 6 more tools that you don't see.");
    expect(createFindTools(github).description).toContain('Their tags: issues (2), pulls (1), repos (1), actions (1).');
  });

  test('a search among 1,000 operations is quick and finds the operation', async () => {
    const api = await openApiTools({ document: largeDocument('https://shop.example.com') });
    expect(api.list()).toHaveLength(1_000);
    const search = createFindTools(api.list());
    const { outcome } = await run(search, { query: 'delete refund region 17' });
    expect(outcome.found?.[0]?.name).toBe('deleteRefundRegion17');
    const began = performance.now();
    await run(search, { query: 'create coupon region 20' });
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  test('whatever is searched for, the output is bounded, and what it loads exists', async () => {
    const names = new Set(github.map(({ name }) => name));
    const words = fc.oneof(
      fc.string({ minLength: 1, maxLength: 100, unit: 'binary' }),
      fc.constantFrom('issue', 'repo', 'create delete list'),
    );
    await fc.assert(
      fc.asyncProperty(words, fc.option(fc.constantFrom('issues', 'none', ''), { nil: undefined }), async (query, tag) => {
        const { content, found = [] } = await find({ query, ...(tag !== undefined && { tag }) });
        expect(content.length).toBeLessThan(6_000);
        expect(found.length).toBeLessThanOrEqual(bounds.foundTools);
        for (const { name } of found) expect(names).toContain(name);
      }),
    );
  });

  test('descriptions and tags of any length make no long output', async () => {
    const long = Array.from({ length: 1_000 }, (_, n) =>
      tool(`tool_${n}`, `file ${'word '.repeat(500)}`, { tags: [`${'t'.repeat(90)}${n}`] }),
    );
    expect(createFindTools(long).description.length).toBeLessThan(3_000);
    expect((await find({ query: 'file' }, long)).content.length).toBeLessThan(6_000);
    expect((await find({ query: 'weather' }, long)).content.length).toBeLessThan(6_000);
  });
});
