import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import type { PendingCall } from '../../src/core/event';
import { defineHooks } from '../../src/hooks';
import { createModelCatalog } from '../../src/models/catalog/model-catalog';
import { callTools, fail, type Reply, type ScriptRequest, say, slowly, withUsage } from '../../src/testing/model-server';
import { askHuman, defineTool, suspend } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { expectOneLine, longhaul } from './command';

const calls: Record<string, { name: string; args: object }> = {
  deploy: { name: 'deploy', args: { to: 'production' } },
  launch: { name: 'deploy', args: { to: 'moon' } },
  ask: { name: 'ask_human', args: { question: 'Which colour?', options: ['red', 'blue'] } },
  mail: { name: 'mail', args: { id: 'set below' } },
  break: { name: 'break_it', args: {} },
};
let busy = 0;

function model({ input, turn, messages, body }: ScriptRequest): Reply {
  const [kind = '', id = ''] = input.split(' ');
  if (!body.tools) return say('I wait for the reply.');
  if (kind === 'busy' && busy++ === 0) return fail(503, { message: 'come back later' });
  // Longer than commands take to start on a busy machine; it is given up for a message.
  if (kind === 'slow' && messages.at(-1)?.content === 'slow') return slowly(say('word '.repeat(1_200)), { chunkMs: 50, chunkSize: 5 });
  const call = calls[kind === 'busy' ? 'break' : kind];
  const usage = { promptTokens: 1_000, completionTokens: 10 };
  if (call && turn === 0) return withUsage(callTools([kind === 'mail' ? { name: 'mail', args: { id } } : call]), usage);
  return withUsage(say(`The last word was: ${messages.at(-1)?.content}`), usage);
}

let rig: Rig;
let env: Record<string, string>;
const agentName = `people-${Date.now().toString(36)}`;

beforeAll(async () => {
  const deploy = defineTool({
    name: 'deploy',
    description: 'Deploys.',
    input: z.object({ to: z.string() }),
    approval: ({ to }) => ({
      groups: ['leads'],
      reason: 'It changes production.',
      deadlineMs: 3_600_000,
      ...(to === 'moon' && { approvers: 2 }),
    }),
    execute: ({ to }) => `deployed to ${to}`,
  });
  const mail = defineTool({
    name: 'mail',
    description: 'Asks by mail.',
    input: z.object({ id: z.string() }),
    execute: ({ id }) => suspend({ result: 'sent', correlationId: id }),
  });
  const breaks = defineTool({
    name: 'break_it',
    description: 'Breaks.',
    input: z.object({}),
    execute: () => {
      throw new Error('the disk is full');
    },
  });
  const hooks = defineHooks({
    'after:execution': () => {
      throw new Error('clean-up is broken');
    },
  });
  const agent = defineAgent({
    name: agentName,
    model: 'openai/test-model',
    instructions: 'Do it.',
    tools: [deploy, mail, breaks, askHuman],
    hooks,
    atLimit: 'ask',
    retry: { baseMs: 40, jitter: false },
  });
  const catalog = createModelCatalog({ overrides: { 'openai/test-model': { inputPerMillion: 100, outputPerMillion: 1_000 } } });
  rig = await startRig({ script: model, agents: [agent], worker: { catalog } });
  env = { TEMPORAL_ADDRESS: rig.address, LONGHAUL_TASK_QUEUE: rig.taskQueue };
});

const command = (...args: string[]) => longhaul(args, { env });
const done = { code: 0, stdout: '' };

/** A thread that waits for something. */
async function waiting(input: string, options = {}): Promise<{ thread: Thread; call: PendingCall }> {
  const thread = await rig.client.start(agentName, input, options);
  const [call] = await until(
    () => thread.pending(),
    (pending) => pending.length > 0,
  );
  return { thread, call: call as PendingCall };
}

test('inbox shows the pending calls of all threads, how long they wait, who is asked, and the command that answers each; the commands work', async () => {
  const mailId = `mail-${rig.taskQueue}`;
  const [approval, question, reply, limit] = await Promise.all([
    waiting('deploy'),
    waiting('ask'),
    waiting(`mail ${mailId}`),
    waiting('chat', { limits: { turns: 0 } }),
  ]);
  const { stdout } = await until(
    () => command('inbox', '--agent', agentName),
    (ended) => [approval, question, reply, limit].every(({ thread }) => ended.stdout.includes(thread.id)),
  );
  expect(stdout).toMatch(/^AGE +THREAD +AGENT +WAITS FOR +WHAT +WHO IS ASKED\n/);
  expect(stdout).toMatch(new RegExp(`\\n\\d+ s +${approval.thread.id} +${agentName} +approval +deploy +group leads · until 20.* UTC\\n`));
  expect(stdout).toContain('    ? It changes production.\n    to: production\n');
  expect(stdout).toContain('    ? Which colour?\n    - red\n    - blue\n');

  const [, approve = ''] = /(approve \S+ \S+ --expect \S+ --by YOU --group leads)/.exec(stdout) ?? [];
  expect(await command(...approve.replace('YOU', 'dana').split(' '))).toMatchObject(done);
  const [, answer = ''] = /(answer \S+ \S+) "…"/.exec(stdout) ?? [];
  expect(await command(...answer.split(' '), 'blue', '--by', 'dana')).toMatchObject({
    ...done,
    stderr: `${question.call.toolCallId} is answered.\n`,
  });
  expect(stdout).toContain(`longhaul reply ${mailId} "…"`);
  expect(await command('reply', mailId, 'the answer by mail')).toMatchObject({ ...done, stderr: 'The reply was accepted.\n' });
  expect(await command('approve', limit.thread.id, limit.call.toolCallId, '--more', '3')).toMatchObject({
    ...done,
    stderr: expect.stringMatching(/^Approving turns of agent \S+: 3 more/),
  });

  expect((await approval.thread.result()).output).toContain('deployed to production');
  expect((await question.thread.result()).output).toBe('The last word was: blue');
  expect((await reply.thread.result()).output).toBe('The last word was: the answer by mail');
  expect((await limit.thread.result()).output).toContain('chat');
  expect((await limit.thread.usage()).remaining.run).toMatchObject({ turns: 2 });
});

test('inbox takes filters, prints JSON lines, and says if nothing is pending', async () => {
  const { thread } = await waiting('deploy');
  const { stdout } = await until(
    () => command('inbox', '--agent', agentName, '--tool', 'deploy', '--group', 'leads', '--json'),
    (ended) => ended.stdout.includes(thread.id),
  );
  expect(JSON.parse(stdout.split('\n').find((line) => line.includes(thread.id)) ?? '')).toMatchObject({
    threadId: thread.id,
    agent: agentName,
    status: 'requires_action',
    since: expect.any(String),
    call: { kind: 'approval', name: 'deploy', groups: ['leads'] },
  });
  expect(await command('inbox', '--agent', agentName, '--older', '2h')).toMatchObject({
    code: 0,
    stdout: '',
    stderr: 'Nothing waits for anyone.\n',
  });
  expect(await command('inbox', '--older', 'long')).toMatchObject({ code: 2, stderr: expect.stringMatching(/such as 2h/) });
  await thread.cancel();
});

test('a decision has a person and a group; a person who is not asked is refused in one line, and so is a rule that can’t be remembered', async () => {
  const { thread, call } = await waiting('deploy');
  const refused = await command('approve', thread.id, call.toolCallId, '--by', 'eve', '--group', 'guests');
  expectOneLine(refused, /is for members of "leads" to answer; "eve" \(guests\) is none of them/);
  expect(refused.code).toBe(1);
  const remembered = await command('approve', thread.id, call.toolCallId, '--by', 'dana', '--group', 'leads', '--remember', 'thread');
  expectOneLine(remembered, /is one of those that certain people agree to each time; approve it without --remember/);
  expect(
    await command(
      'approve',
      thread.id,
      call.toolCallId,
      '--by',
      'dana',
      '--group',
      'staff',
      '--group',
      'leads',
      '--arguments',
      '{"to":"staging"}',
    ),
  ).toMatchObject(done);
  const { output } = await thread.result();
  expect(output).toContain('deployed to staging');
  const { stdout } = await command('events', thread.id);
  expect(stdout).toContain('? deploy  needs an approval  It changes production.  (group leads · until ');
  expect(stdout).toContain('approved by dana with other arguments: staging');
});

test('reject with --stop ends the run', async () => {
  const { thread, call } = await waiting('deploy');
  expect(
    await command('reject', thread.id, call.toolCallId, '--group', 'leads', '--by', 'dana', '--reason', 'not today', '--stop'),
  ).toMatchObject(done);
  expect(await thread.result().catch((error) => error)).toMatchObject({
    code: 'run-cancelled',
    message: expect.stringContaining('not today'),
  });
});

test('pause, resume, send and close control a conversation; cancel takes the id of a run', async () => {
  const thread = await rig.client.start(agentName, 'slow', { mode: 'conversation' });
  await until(
    () => thread.status(),
    ({ status, turn }) => status === 'in_progress' && turn === 1,
  );
  expect(await command('send', thread.id, 'another matter', '--after-run', '--id', 'later')).toMatchObject(done);
  expect(await command('pause', thread.id, '--by', 'dana', '--reason', 'let me see')).toMatchObject({
    ...done,
    stderr: 'No new step begins until the thread is resumed.\n',
  });
  expect(await command('send', thread.id, 'stop that', '--now')).toMatchObject(done);
  await until(
    () => thread.status(),
    ({ status }) => status === 'paused',
  );
  const shown = (await command('show', thread.id)).stdout;
  expect(shown).toMatch(/status +paused/);
  expect(shown).toMatch(/paused +by dana: let me see/);
  expect(await thread.receipt('later')).toMatchObject({ state: 'accepted' });
  expect(await command('resume', thread.id, '--by', 'dana')).toMatchObject({ ...done, stderr: 'The thread continues.\n' });
  await until(
    () => thread.status(),
    ({ status, messages }) => status === 'idle' && messages === 5,
  );
  const { stdout } = await command('events', thread.id);
  expect(stdout).toMatch(
    /‖ paused by dana: let me see[\s\S]*aborted for a message that must be read now[\s\S]*▸ resumed by dana[\s\S]*you stop that[\s\S]*you another matter/,
  );
  expect(await command('compact', thread.id)).toMatchObject(done);
  await until(
    () => thread.usage(),
    ({ runs }) => runs === 3,
  );
  await thread.send('deploy');
  await until(
    () => thread.status(),
    ({ status }) => status === 'idle',
  );
  const { runId } = await thread.status();
  expectOneLine(await command('cancel', runId ?? ''), /there is no run to cancel|is not going on/);
  expectOneLine(await command('cancel', 'run_nobody'), /There is no thread, run or suspension "run_nobody"/);
  expect(await command('close', thread.id, '--cancel', '--by', 'dana')).toMatchObject(done);
});

test('a suspended or paused run without a person to ask exits with 3 and says how to continue it', async () => {
  const id = `asleep-${rig.taskQueue}`;
  const asleep = await command('run', '--agent', agentName, '--thread', id, `mail ${id}`);
  expect(asleep.stdout).toContain('I wait for the reply.');
  expect(asleep.stdout).toContain(`… suspended: it continues with a reply to "${id}", until 20`);
  expect(asleep.stderr).toContain(`longhaul reply ${id} "…"   (or: longhaul send ${id} "…")`);
  expect(asleep.code).toBe(3);
  await command('reply', id, 'here it is');
  expect(await command('run', '--agent', agentName, '--thread', id, `mail ${id}`)).toMatchObject({ code: 0 });

  const { thread } = await waiting('deploy', { id: `paused-${rig.taskQueue}` });
  await thread.pause({ by: 'dana', reason: 'lunch' });
  const paused = await command('run', '--agent', agentName, '--thread', thread.id, '--yes', '--by', 'lee', '--group', 'leads', 'deploy');
  expect(paused.stderr).toContain(`longhaul resume ${thread.id}   (paused by dana: lunch)`);
  expect(paused.code).toBe(3);
  await thread.resume();
  expect(await command('run', '--agent', agentName, '--thread', thread.id, 'deploy')).toMatchObject({ code: 0 });
});

test('--yes approves nothing that is for other people to decide: it exits with 3', async () => {
  const { code, stderr } = await command('run', '--agent', agentName, '--yes', 'deploy');
  expect(stderr).toMatch(/is for members of "leads" to answer/);
  expect(stderr).toMatch(/longhaul approve \S+ \S+ --expect [0-9a-f]{16} --by YOU --group leads/);
  expect(code).toBe(3);
});

test('--yes for a call that needs more approvals says so, also after it returns, and that another person must approve', async () => {
  const id = `launch-${agentName}`;
  const launch = () => command('run', '--agent', agentName, '--thread', id, '--yes', '--by', 'dana', '--group', 'leads', 'launch');
  for (const { code, stderr } of [await launch(), await launch()]) {
    expect(stderr).toMatch(/\ndana agrees to \S+; 1 more must agree\.\nThread \S+ waits for a person/);
    expect(stderr).not.toContain('refused');
    expect(code).toBe(3);
  }
  const [call] = await rig.client.attach(id).pending();
  await rig.client.attach(id).approve(call?.toolCallId ?? '', { by: 'lee', groups: ['leads'] });
  expect((await launch()).stdout).toContain('The last word was: deployed to moon');
});

test('[A203][A204][A219][B190] after the run, show prints usage and cost by model, durations, retries with their waits, errors, decisions and limits', async () => {
  const { thread, call } = await waiting('deploy');
  await thread.approve(call.toolCallId, { by: 'dana', groups: ['leads'], reason: 'looks right' });
  await thread.result();
  const second = await rig.client.start(agentName, 'busy');
  await second.result();

  const decided = (await command('show', thread.id)).stdout;
  expect(decided).toMatch(/so far +1 run · 2 turns · 2\.0k tokens in, 20 out · 0\.22 USD/);
  expect(decided).toMatch(/left +98 turns/);
  expect(decided).toMatch(/openai\/test-model · 2 calls · 2\.0k tokens in, 20 out · 0\.22 USD · \d/);
  expect(decided).toMatch(/deploy · 1 call · \d/);
  expect(decided).toMatch(/people · 1 approved · 0 rejected · .* waited for/);
  expect(decided).toMatch(/20\S+ \S+ approved deploy \(\S+\) by dana: looks right \(after .*\)/);
  expect(decided).toMatch(/after:execution · 1 call · 1 failed/);
  expect(decided).toMatch(/the run ended: completed/);

  const troubled = (await command('show', second.id)).stdout;
  expect(troubled).toMatch(/openai\/test-model · 2 calls · .* · 1 retry, 40 ms waited/);
  expect(troubled).toMatch(/retry openai\/test-model: \w+: .*come back later.*, then waited 40 ms/);
  expect(troubled).toMatch(/break_it · 1 call · 1 failed/);
  expect(troubled).toMatch(/failed break_it \(\S+\): Error: the disk is full/);

  const json = JSON.parse((await command('show', second.id, '--json')).stdout);
  expect(json.usage.metrics.models['openai/test-model']).toMatchObject({
    calls: 2,
    retries: 1,
    waitedMs: 40,
    usage: { inputTokens: 2_000, outputTokens: 20 },
  });
  expect(json.usage).toMatchObject({ costUsd: 0.22, thread: { inputTokens: 2_000, outputTokens: 20 }, remaining: { run: { turns: 98 } } });
  expect(json.audit.entries.map(({ kind }: { kind: string }) => kind)).toEqual(['model', 'tool', 'model', 'hook', 'ended']);
  expect(json.audit.truncated).toBe(false);
  expect(json.audit.entries[0]).toMatchObject({
    turn: 1,
    usage: { inputTokens: 1_000 },
    retries: [{ kind: expect.any(String), waitMs: 40 }],
  });
  const newest = await second.audit({ limit: 2 });
  expect(newest).toEqual({ entries: json.audit.entries.slice(-2), truncated: true });
  expect((await second.audit({ limit: 0 })).entries).toEqual([]);
});

test('a person whose approval is not enough is told how many are needed; a blank answer is no answer', async () => {
  const { thread, call } = await waiting('launch');
  const agree = (by: string) => command('approve', thread.id, call.toolCallId, '--by', by, '--group', 'leads');
  expect(await agree('dana')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(`\ndana agrees to ${call.toolCallId}; 1 more must agree.\n`),
  });
  expect(await agree('lee')).toMatchObject({ code: 0, stderr: expect.stringContaining(`\n${call.toolCallId} is approved.\n`) });
  const asked = await waiting('ask');
  const blank = await command('answer', asked.thread.id, asked.call.toolCallId, ' ');
  expect(blank.code).toBe(2);
  expectOneLine(blank, /the answer is blank/);
  await command('answer', asked.thread.id, asked.call.toolCallId, 'blue', '--by', 'kim');
  await asked.thread.result();
  expect((await command('show', asked.thread.id)).stdout).toMatch(/answered ask_human \(\S+\) by kim: blue/);
});
