import fc from 'fast-check';
import { LonghaulClient, type LonghaulError } from '../../src/client';
import { agentOf, ofThreads, quoted } from '../../src/client/list-filter';
import type { ListedThread } from '../../src/client/listed-threads';
import { sharedServer } from '../support/temporal';
import { thrownBy } from '../workflows/scenes';

let client: LonghaulClient;
beforeAll(async () => {
  client = await LonghaulClient.connect({ connection: { address: sharedServer().address } });
});
afterAll(() => client.close());

test.each([
  ["AgentName = 'x' ANDD 1", "at its character 17, near 'ANDD'"],
  ["AgentName = 'x' ORDER BY StartTime", "at its character 17, near 'ORDER'"],
  ['= 1', 'at its character 1'],
  ["AgentName = 'Zoë Müller' == 3", 'at its character 26'],
  ["AgentName = 'x' AND\n  AgentStatus == 3", 'at its character 36'],
  ['AgentName = ', 'at its end'],
  ["AgentName = 'x", 'at its end'],
])('a list filter that the server can not parse is refused with the position of the error: %s', async (query, place) => {
  const { code, message } = (await thrownBy(client.list({ query }))) as LonghaulError;
  expect(code).toBe('invalid-input');
  expect(message).toMatch(/filter: (?!Failed to list|.*INVALID_ARGUMENT)/);
  expect(message.replace(/filter: .* syntax error/, 'filter: …')).toBe(`list: the server did not understand the filter: … ${place}`);
});

test.each([
  ['a = 1) OR (b = 2', 'a ")" at its character 6 that closes no "("'],
  ['(a = 1', 'a "(" at its character 1 that is not closed'],
  ["a = '(' AND (b = ')'", 'a "(" at its character 13 that is not closed'],
  ["a = 'it\\'s (' OR (b = 2))", 'a ")" at its character 25 that closes no "("'],
  ['a = "\'") OR (b = "\'"', 'a ")" at its character 8 that closes no "("'],
  ['`)` = 1)', 'a ")" at its character 8 that closes no "("'],
  ['a = 1 /* ( */ ) OR (b = 2 /* ) */', 'a comment at its character 7; leave it out'],
  ['a = 1 -- (\n) OR (b = 2', 'a comment at its character 7; leave it out'],
  ['a = 1 // (\n) OR (b = 2', 'a comment at its character 7; leave it out'],
  ['a = 1 # (\n) OR (b = 2', 'a comment at its character 7; leave it out'],
])('a list filter that would close the enclosing parentheses, and find other workflows, is refused: %s', async (query, wrong) => {
  const { code, message } = (await thrownBy(client.list({ query }))) as LonghaulError;
  expect(code).toBe('invalid-input');
  expect(message).toBe(`list: the filter has ${wrong}`);
});

test('quoted text contains no parentheses and no comments', async () => {
  const texts = ['(', ')', "'", '"', '\\', '--', '//', '/*', '#', '\\)', ''];
  const query = texts.map((text) => `(WorkflowId = ${quoted(`none ${text}`)})`).join(' OR ');
  expect(await client.list({ query: `${query} OR WorkflowId = "it''s ( \\" )" OR \`WorkflowId\` = 'none'` })).toEqual([]);
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => ofThreads('list', `a = ${quoted(text)}`).endsWith(`${quoted(text)})`)));
});

test.each<[string, unknown, string]>([
  ['a name', 'support', 'support'],
  ['a text of megabytes', 'a'.repeat(5_000_000), 'indexed'],
  ['a text with line breaks', 'support\nAGENT', 'indexed'],
  ['no text', { name: 'support' }, 'indexed'],
  ['nothing', undefined, 'indexed'],
])('a memo that has %s as the agent of a thread', async (_, memo, agent) => {
  const thread = { memo: async () => memo, attribute: () => ['indexed'] } as unknown as ListedThread;
  expect(await agentOf(thread)).toBe(agent);
});
