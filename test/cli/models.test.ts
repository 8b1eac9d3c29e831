import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { longhaul } from './command';

const cwd = mkdtempSync(join(tmpdir(), 'longhaul-models-'));
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const file = join(cwd, 'models.json');
beforeAll(() => {
  const mine = {
    contextWindow: 32_000,
    maxOutputTokens: 4_096,
    capabilities: { tools: true, images: false },
    inputPerMillion: 0.1,
    outputPerMillion: 0.2,
  };
  writeFileSync(file, JSON.stringify({ 'local/llama-3': mine, 'openai/gpt-5': { maxOutputTokens: 9_000 } }));
});

const models = (...args: string[]) => longhaul(['models', ...args], { cwd, env: { LONGHAUL_MODELS: file } });

test('it lists the models whose names contain a text, with the overrides and where each fact comes from', async () => {
  const { stdout, code } = await models('LLAMA-3');
  const lines = stdout.split('\n').map((line) => line.trim().split(/ +/));
  expect(lines[0]?.join(' ')).toBe('MODEL WINDOW OUTPUT $ IN $ OUT SOURCE CANNOT CAN');
  expect(lines).toContainEqual(['local/llama-3', '32.0k', '4.1k', '0.1', '0.2', file, 'images', 'tools']);
  expect(lines.length).toBeGreaterThan(3);
  expect(code).toBe(0);
});

test('a whole name is described as a model call would find it, also with a date', async () => {
  const { stdout } = await models('openai/gpt-5-2031-01-01', '--json');
  expect(JSON.parse(stdout)).toMatchObject({
    name: 'openai/gpt-5-2031-01-01',
    windowTokens: 272_000,
    maxOutputTokens: 9_000,
    capabilities: { images: true, tools: true },
    sources: [file, expect.stringMatching(/^LiteLLM /)],
  });
});

test('without a text it lists all', async () => {
  const { stdout } = await models('--json');
  const names = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).name);
  expect(names.length).toBeGreaterThan(1_000);
  expect(names).toEqual(
    expect.arrayContaining(['local/llama-3', 'anthropic/claude-opus-4-5', 'bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0']),
  );
});

test('of an unknown model it says that nothing is known', async () => {
  expect(await models('acme/none')).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringContaining('Nothing is known of a model acme/none'),
  });
});

test('an invalid file is an error that names it, the entry and the problem', async () => {
  const broken = join(cwd, 'broken.json');
  writeFileSync(broken, JSON.stringify({ 'acme/one': { maxOutputTokens: -1 } }));
  const { code, stderr } = await longhaul(['models'], { cwd, env: { LONGHAUL_MODELS: broken } });
  expect(code).toBe(1);
  expect(stderr).toMatch(/broken\.json.* is not valid(?:.|\n)*"acme\/one" "maxOutputTokens": /);
});
