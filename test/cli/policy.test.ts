import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inPackage } from '../support/in-package';
import { expectOneLine, longhaul } from './command';

const cwd = mkdtempSync(join(tmpdir(), 'longhaul-policy-'));
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const rules = join(cwd, 'rules.json');
beforeAll(() => {
  writeFileSync(
    join(cwd, 'agents.js'),
    `const { createPermissions, defineAgent, filePermissionStore } = require(${JSON.stringify(inPackage('.'))});
    const permissions = createPermissions({ mode: 'minimal', store: filePermissionStore(${JSON.stringify(rules)}) });
    const define = (name, more) => defineAgent({ name, model: 'test-model', instructions: 'Work.', ...more });
    module.exports = { clerk: define('clerk', { permissions }), plain: define('plain') };`,
  );
  const remembered = [
    { tool: 'shell', prefix: ['npm', 'test'], exact: true },
    { tool: 'web_fetch', host: 'docs.example.com' },
  ];
  writeFileSync(rules, JSON.stringify({ clerk: remembered, other: [{ tool: 'pay' }] }));
});

const policy = (...args: string[]) => longhaul(['policy', ...args], { cwd });

test('it says whether a command needs approval, and why', async () => {
  expect((await policy('test', 'ls && git push')).stdout).toBe(
    `ask: a person is asked
  ls: allowed by the mode minimal
  git push: no rule allows it, and in the mode minimal it is not known to be safe
`,
  );
  expect((await policy('test', 'git push', '--mode', 'full-access')).stdout).toMatch(/^allow: it runs without approval\n/);
  const clerk = ['--agents', 'agents.js', '--agent', 'clerk'];
  expect(JSON.parse((await policy('test', 'npm test', '--json', ...clerk)).stdout)).toEqual({
    decision: 'allow',
    why: ['npm test: allowed by a remembered rule'],
  });
});

test('remembered rules are listed and removed, for one agent', async () => {
  const clerk = ['--agents', 'agents.js', '--agent', 'clerk'];
  expect((await policy('list', ...clerk)).stdout).toBe('1  shell: npm test (exactly)\n2  web_fetch: docs.example.com\n');
  expectOneLine(await policy('remove', '3', ...clerk), /agent clerk has 2 remembered rules/);
  expect((await policy('remove', '1', ...clerk)).stderr).toContain('Removed: shell: npm test (exactly) needs approval again');
  expect(JSON.parse(readFileSync(rules, 'utf8'))).toEqual({
    clerk: [{ tool: 'web_fetch', host: 'docs.example.com' }],
    other: [{ tool: 'pay' }],
  });
  expect((await policy('test', 'npm test', ...clerk)).stdout).toMatch(/^ask: /);
});

test.each<[string[], RegExp]>([
  [['list', '--agents', 'agents.js'], /say which agent with --agent \(clerk, plain\)/],
  [['list', '--agents', 'agents.js', '--agent', 'nobody'], /there is no agent 'nobody'; there is clerk, plain/],
  [['test', 'ls', '--agents', 'agents.js', '--agent', 'plain'], /Agent plain has no permissions/],
  [['list'], /have no store/],
])('%j is answered in one line', async (args, words) => {
  expectOneLine(await policy(...args), words);
});
