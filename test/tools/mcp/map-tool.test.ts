import { mapTools } from '../../../src/tools/mcp/map-tool';
import { SecretMask } from '../../../src/tools/running/secret-mask';

test('other work runs between the tools of a list', async () => {
  const tools = Array.from({ length: 20 }, (_, at) => ({ name: `tool-${at}`, inputSchema: { type: 'object' as const } }));
  let turns = 0;
  let isDone = false;
  const turn = () => {
    turns += 1;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  const { tools: mapped } = await mapTools('it', { command: 'it' }, tools, () => undefined, new SecretMask([]));
  isDone = true;
  expect(mapped).toHaveLength(20);
  expect(turns).toBeGreaterThanOrEqual(20);
});
