import { configuredAgents } from '../../src/worker/agents-file';

const push = { id: 'call_1', name: 'shell', arguments: '{"command":"git push"}' };

async function asks(options: Parameters<typeof configuredAgents>[0]): Promise<boolean> {
  const [coder] = await configuredAgents(options);
  return 'approval' in ((await coder?.toolbox.judge(push)) ?? {});
}

const before = process.env.LONGHAUL_MODE;
afterEach(() => {
  if (before === undefined) delete process.env.LONGHAUL_MODE;
  else process.env.LONGHAUL_MODE = before;
});

test('the built-in coder of a worker asks, but for what a mode allows: of the command line, else of the environment', async () => {
  delete process.env.LONGHAUL_MODE;
  expect(await asks({})).toBe(true);
  process.env.LONGHAUL_MODE = 'full-access';
  expect(await asks({})).toBe(false);
  expect(await asks({ mode: 'minimal' })).toBe(true);
});

test('a mode that does not exist, or that nobody would follow, is refused', async () => {
  await expect(asks({ mode: 'yolo' })).rejects.toThrow('The mode is "yolo"; use minimal, trusted, full-access.');
  await expect(asks({ file: 'agents.js', mode: 'trusted' })).rejects.toThrow(
    '--mode is for the built-in coder; the agents of agents.js have permissions of their own.',
  );
});
