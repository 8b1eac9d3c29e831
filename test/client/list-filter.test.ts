import { LonghaulClient, type LonghaulError } from '../../src/client';
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
  ['(', 'at its end'],
])('a list filter that the server can not read is refused with the place in it: %s', async (query, place) => {
  const { code, message } = (await thrownBy(client.list({ query }))) as LonghaulError;
  expect(code).toBe('invalid-input');
  expect(message.replace(/filter: .* syntax error/, 'filter: …')).toBe(`list: the server did not understand the filter: … ${place}`);
});
