import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { callTools, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { createVerifier } from '../../src/worker';
import { type Rig, startRig, until } from '../support/rig';
import { expectOneLine, longhaul } from './command';

const cwd = mkdtempSync(join(tmpdir(), 'longhaul-keys-'));
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

let rig: Rig;
let env: Record<string, string>;
beforeAll(async () => {
  const made = await longhaul(['keygen', 'dana', '--group', 'leads'], { cwd });
  expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining('LONGHAUL_SIGNING_KEY=dana.pem LONGHAUL_USER=dana') });
  expect(statSync(join(cwd, 'dana.pem')).mode & 0o777).toBe(0o600);
  expect(made.stdout + made.stderr).not.toMatch(/PRIVATE/);
  const deploy = defineTool({
    name: 'deploy',
    description: 'Deploys.',
    input: z.object({ to: z.string() }),
    approval: { groups: ['leads'] },
    execute: ({ to }) => `deployed to ${to}`,
  });
  rig = await startRig({
    script: ({ turn }) => (turn === 0 ? callTools([{ name: 'deploy', args: { to: 'production' } }]) : say('done')),
    agents: [defineAgent({ name: 'tester', model: 'test-model', instructions: 'Test.', tools: [deploy] })],
    worker: { verifier: createVerifier(JSON.parse(made.stdout)) },
  });
  env = { TEMPORAL_ADDRESS: rig.address, LONGHAUL_TASK_QUEUE: rig.taskQueue };
});

test('keygen overwrites no key', async () => {
  const key = readFileSync(join(cwd, 'dana.pem'), 'utf8');
  expectOneLine(await longhaul(['keygen', 'dana'], { cwd }), /dana\.pem already exists/);
  expectOneLine(await longhaul(['keygen', '../dana'], { cwd }), /name the file for the key with --out/);
  expect(readFileSync(join(cwd, 'dana.pem'), 'utf8')).toBe(key);
});

test('with a key, and only with it, the command line can decide if decisions must be signed, and show says that they were', async () => {
  const thread = await rig.client.start('tester', 'deploy');
  const [call] = await until(
    () => thread.pending(),
    (pending) => pending.length > 0,
  );
  const approve = (more: Record<string, string>) =>
    longhaul(['approve', thread.id, call?.toolCallId ?? ''], { cwd, env: { ...env, ...more } });
  expect(call).toMatchObject({ signed: true });
  const inbox = await longhaul(['inbox', '--tool', 'deploy'], { cwd, env });
  expect(inbox.stdout + inbox.stderr).toContain(`LONGHAUL_SIGNING_KEY=YOU.pem longhaul approve ${thread.id}`);
  expectOneLine(await approve({ LONGHAUL_USER: '' }), /takes signed decisions only; say who you are with --by/);
  expectOneLine(await approve({ LONGHAUL_USER: 'dana' }), /takes signed decisions only; sign it: set LONGHAUL_SIGNING_KEY/);
  writeFileSync(join(cwd, 'no.pem'), 'nothing');
  expectOneLine(await approve({ LONGHAUL_USER: 'dana', LONGHAUL_SIGNING_KEY: 'no.pem' }), /LONGHAUL_SIGNING_KEY: no\.pem can't be used/);
  expect(await approve({ LONGHAUL_USER: 'dana', LONGHAUL_SIGNING_KEY: 'dana.pem' })).toMatchObject({ code: 0 });
  expect((await thread.result()).status).toBe('completed');
  const shown = await longhaul(['show', thread.id], { cwd, env });
  expect(shown.stdout + shown.stderr).toMatch(/approved deploy \(\S+\) by dana, signed/);
});
