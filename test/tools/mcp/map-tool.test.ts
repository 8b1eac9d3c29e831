import { bounds } from '../../../src/core/bounds';
import { mapTools } from '../../../src/tools/mcp/map-tool';
import { isOfServer } from '../../../src/tools/mcp/tool-name';
import { toolsJudgedByName } from '../../../src/tools/permissions/harmless-commands';
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

test('the descriptions and schemas of all tools of a server are bounded together', async () => {
  const property = { a: { type: 'string', enum: Array.from({ length: 600 }, (_, at) => `${at}${'x'.repeat(95)}`) } };
  const large = Array.from({ length: 5 }, (_, at) => ({
    name: `large-${at}`,
    inputSchema: { type: 'object' as const, properties: property },
  }));
  const small = { name: 'small', inputSchema: { type: 'object' as const } };
  const { tools, leftOut } = await mapTools('it', { command: 'it' }, [...large, small], () => undefined, new SecretMask([]));
  expect(tools.map(({ name }) => name)).toEqual(['it__large-0', 'it__large-1', 'it__large-2', 'it__small']);
  expect(leftOut).toEqual([3, 4].map((at) => `'large-${at}': the tools of the server have more than ${bounds.mcpToolsChars} characters`));
});

test('no tool of a server gets a name by which permissions decide', async () => {
  // The name could only be in two parts: a server's, and a tool's.
  for (const name of toolsJudgedByName) {
    const splits = Array.from({ length: name.length }, (_, at) => name.slice(0, at)).filter((server) => isOfServer(server, name));
    expect(splits).toEqual([]);
    const [, server = '', tool = ''] = /^([a-z]+)_?(.*)$/.exec(name) ?? [];
    const offered = [{ name: tool || name, inputSchema: { type: 'object' as const } }];
    const { tools } = await mapTools(server, { command: 'it' }, offered, () => undefined, new SecretMask([]));
    expect(tools).toHaveLength(1);
    expect(toolsJudgedByName).not.toContain(tools[0]?.name);
  }
});
