import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import type { Thread } from '../../src/client';
import type { PendingCall } from '../../src/core/event';
import { callTools, type Reply, type ScriptRequest, say } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { eventsOf, expectOneLine, longhaul, type Running, start } from './command';

function model({ input, turn, messages }: ScriptRequest): Reply {
  const tool = input.startsWith('look')
    ? { name: 'look_up', args: { what: 'the weather' } }
    : input.startsWith('refund')
      ? { name: 'refund', args: { orderId: '812' } }
      : { name: 'deploy', args: { to: 'production' } };
  if (turn === 0 && !input.startsWith('chat')) return callTools([tool]);
  return say(`The last word was: ${messages.at(-1)?.content}`);
}

let rig: Rig;
let env: Record<string, string>;
/** They wait ten seconds for a worker; meanwhile the other tests run. */
let alone: { sent: Running; shown: Running };

beforeAll(async () => {
  const deploy = defineTool({
    name: 'deploy',
    description: 'Deploys.',
    input: z.object({ to: z.string() }),
    approval: 'always',
    execute: ({ to }) => `deployed to ${to}`,
  });
  const refund = defineTool({
    name: 'refund',
    description: 'Refunds.',
    input: z.object({ orderId: z.string(), cents: z.number().default(100), note: z.string().default('none') }),
    approval: 'always',
    execute: (args) => JSON.stringify(args),
  });
  const lookUp = defineTool({ name: 'look_up', description: 'Answered outside.', input: z.object({ what: z.string() }) });
  const agent = defineAgent({ name: 'tester', model: 'test-model', instructions: 'Test.', tools: [deploy, refund, lookUp] });
  rig = await startRig({ script: model, agents: [agent] });
  env = { TEMPORAL_ADDRESS: rig.address, LONGHAUL_TASK_QUEUE: rig.taskQueue };
  const thread = await rig.client.start('tester', 'deploy', { taskQueue: `nobody-${rig.taskQueue}` });
  alone = { sent: start(['send', thread.id, 'hello'], { env }), shown: start(['show', thread.id], { env }) };
});

/** A thread that waits for one call. */
async function waiting(input: string): Promise<{ thread: Thread; call: PendingCall }> {
  const thread = await rig.client.start('tester', input);
  const [call] = await until(
    () => thread.pending(),
    (pending) => pending.length > 0,
  );
  return { thread, call: call as PendingCall };
}

const command = (...args: string[]) => longhaul(args, { env });

test('reject refuses a call with its reason', async () => {
  const { thread, call } = await waiting('deploy');
  expect(await command('reject', thread.id, call.toolCallId, '--by', 'dana', '--reason', 'not on a Friday')).toMatchObject({
    code: 0,
    stderr: `Rejecting deploy of agent tester (${call.digest})\n    to: production\n${call.toolCallId} is rejected.\n`,
  });
  expect((await thread.result()).output).toContain('not on a Friday');
});

test('reject rejects nothing but the call that was shown', async () => {
  const { thread, call } = await waiting('deploy');
  const other = await command('reject', thread.id, call.toolCallId, '--expect', '0000000000000000');
  expectOneLine(other, new RegExp(`has the digest ${call.digest}, and "0000000000000000" was expected`));
  expect(other.stderr).not.toContain('Rejecting');
  expect(await thread.pending()).toHaveLength(1);
  expect(await command('reject', thread.id, call.toolCallId, '--expect', call.digest ?? '')).toMatchObject({ code: 0 });
  await thread.result();
});

test('an answer of the wrong kind is refused, with the command that answers the call', async () => {
  const { thread, call } = await waiting('deploy');
  const answered = await command('answer', thread.id, call.toolCallId, 'yes');
  expectOneLine(answered, /waits for an approval, not for an answer or an output/);
  expect(answered.stderr).toContain(`${call.toolCallId} is answered with: longhaul approve ${thread.id} ${call.toolCallId} --expect`);
  const { thread: outside, call: output } = await waiting('look');
  for (const name of ['approve', 'reject']) {
    const decided = await command(name, outside.id, output.toolCallId);
    expect(decided.stderr).toContain(
      `${output.toolCallId} is answered with: longhaul submit ${outside.id} ${output.toolCallId} '<output>'`,
    );
  }
  expect((await command('approve', outside.id, 'none')).stderr).not.toContain('is answered with');
  await Promise.all([thread.cancel(), outside.cancel()]);
});

test('events print the commands only of calls that still wait, each below its question', async () => {
  const { thread, call } = await waiting('deploy');
  const asked = (await thread.status()).seq;
  const question = `? deploy  needs an approval\n    to: production\n    longhaul approve ${thread.id} ${call.toolCallId}`;
  const from = (seq: number) => command('events', thread.id, '--no-follow', '--from', String(seq));
  expect((await from(1)).stdout).toContain(question);
  expect((await from(asked)).stdout).toMatch(/^\? deploy {2}needs an approval\n {4}to: production\n {4}longhaul approve/);
  const throughNpx = await longhaul(['events', thread.id, '--no-follow'], { env: { ...env, npm_command: 'exec' } });
  expect(throughNpx.stdout).toContain(`    npx longhaul approve ${thread.id} ${call.toolCallId} --expect`);
  await thread.approve(call.toolCallId, { by: 'dana' });
  await thread.result();
  for (const { stdout } of [await from(1), await command('events', thread.id)]) {
    expect(stdout).toContain('? deploy  needs an approval\n    to: production\n');
    expect(stdout).toContain('approved by dana');
    expect(stdout).not.toContain('longhaul approve');
  }
});

test('approve can change the arguments; invalid ones are refused in one line, and the call still waits', async () => {
  const { thread, call } = await waiting('deploy');
  const wrong = await command('approve', thread.id, call.toolCallId, '--arguments', '{"to":7}');
  expectOneLine(wrong, /^error: approve was refused by thread .*to/);
  expect(wrong.code).toBe(1);
  expect(await thread.pending()).toHaveLength(1);
  expect(await command('approve', thread.id, call.toolCallId, '--arguments', '{"to":"staging"}')).toMatchObject({ code: 0 });
  expect((await thread.result()).output).toContain('deployed to staging');
});

test('edited arguments are printed, and shown later, as the tool gets them', async () => {
  const { thread, call } = await waiting('refund');
  const edited = await command('approve', thread.id, call.toolCallId, '--arguments', '{"cents":80,"orderId":"812","x":1}', '--by', 'dana');
  expect(edited.stderr).toBe(
    `Approving refund of agent tester with other arguments (${call.digest})\n    cents: 80\n    orderId: "812"\n    x: 1\nThe tool gets:\n    orderId: "812"\n    cents: 80\n    note: none\n${call.toolCallId} is approved.\n`,
  );
  expect((await thread.result()).output).toContain('{"orderId":"812","cents":80,"note":"none"}');
  const as = 'orderId: "812", cents: 80, note: none';
  expect((await command('events', thread.id)).stdout).toContain(`approved by dana with other arguments: ${as}\n▸ refund ${as}\n`);
  expect((await command('show', thread.id)).stdout).toMatch(new RegExp(`approved refund \\(\\S+\\) by dana \\(after .*\\); with ${as}\\n`));
});

test('a decision on a call that was decided, or never existed, lists the pending calls', async () => {
  const { thread, call } = await waiting('deploy');
  const unknown = await command('approve', thread.id, 'call_nobody_knows');
  expectOneLine(
    unknown,
    new RegExp(`"call_nobody_knows" does not wait for an approval; "${call.toolCallId}" \\(deploy\\) waits for an approval`),
  );
  expect(unknown.code).toBe(1);
  await command('approve', thread.id, call.toolCallId);
  await thread.result();
  expectOneLine(await command('approve', thread.id, call.toolCallId), /has ended; "longhaul show .* says how it ended/);
});

test.each([
  ['text', ['sunny'], 'sunny'],
  ['JSON', ['{"sky":"blue"}'], '{"sky":"blue"}'],
  ['text that looks like JSON, with --text', ['--text', '{"sky"'], '{"sky"'],
  ['a failure, with --error', ['--error', 'the service is down'], 'the service is down'],
])('submit answers a call from outside with %s', async (_, given, seen) => {
  const { thread, call } = await waiting('look');
  expect(await command('submit', thread.id, call.toolCallId, ...given)).toMatchObject({ code: 0 });
  expect((await thread.result()).output).toBe(`The last word was: ${seen}`);
});

test('submit reads the output from standard input', async () => {
  const { thread, call } = await waiting('look');
  expect(await longhaul(['submit', thread.id, call.toolCallId, '-'], { env, input: 'from a pipe' })).toMatchObject({ code: 0 });
  expect((await thread.result()).output).toContain('from a pipe');
});

test.each([
  ['send', ['T']],
  ['reply', ['C']],
  ['answer', ['T', 'call_1']],
  ['submit', ['T', 'call_1']],
  ['submit', ['--text', 'T', 'call_1']],
  ['run', []],
  ['dev', []],
])('a blank text, or one that is not UTF-8, is a usage error of %s %j, and nothing is sent', async (name, before) => {
  // Nothing listens there: what is refused needs no server.
  const nowhere = { env: { TEMPORAL_ADDRESS: '127.0.0.1:9' } };
  for (const [ended, words] of [
    [await longhaul([name, ...before, ' '], nowhere), /^error: the \w+ is blank; nothing was sent$/],
    [await longhaul([name, ...before, '-'], { ...nowhere, input: '\n' }), /^error: the \w+ is blank; nothing was sent$/],
    [
      await longhaul([name, ...before, '-'], { ...nowhere, input: Buffer.from([0x68, 0x69, 0xff, 0xfe]) }),
      /^error: standard input is not UTF-8/,
    ],
  ] as const) {
    expectOneLine(ended, words);
    expect(ended.code).toBe(2);
  }
});

test('submit sends an empty text as JSON', async () => {
  const { thread, call } = await waiting('look');
  expect(await command('submit', thread.id, call.toolCallId, '""')).toMatchObject({ code: 0 });
  expect((await thread.result()).output).toBe('The last word was: (no output)');
});

test('broken JSON is a usage error, and nothing is sent', async () => {
  const { thread, call } = await waiting('look');
  for (const args of [
    ['submit', thread.id, call.toolCallId, '{"sky":'],
    ['approve', thread.id, call.toolCallId, '--arguments', '{to'],
    ['approve', thread.id, call.toolCallId, '--arguments', '[1]'],
  ]) {
    const ended = await command(...args);
    expectOneLine(ended, /^error: .*JSON/);
    expect(ended.code).toBe(2);
  }
  await thread.cancel();
});

test('run that waits only for an output from outside exits with 3, also with --yes, and says how to submit it', async () => {
  const { code, stdout, stderr } = await command('run', '--agent', 'tester', '--yes', 'look');
  // Also in addition to the events: at a terminal the run would continue to wait there.
  expect(stdout).toMatch(/longhaul submit thread_\S+ \S+ '<output>'/);
  expect(stderr).toMatch(/longhaul submit thread_\S+ \S+ '<output>'/);
  expect(code).toBe(3);
});

test('a conversation continues with send, and ends with close', async () => {
  const id = `chat-${rig.taskQueue}`;
  const first = await command('run', '--agent', 'tester', '--conversation', '--thread', id, 'chat: hello');
  expect(first).toMatchObject({ code: 0 });
  expect(await command('send', id, 'and again')).toMatchObject({ code: 0, stderr: 'The message was accepted.\n' });
  const thread = rig.client.attach(id);
  await until(
    () => thread.status(),
    (status) => status.status === 'idle' && status.runId !== null && status.messages === 4,
  );
  const { stdout } = await command('events', id);
  expect(stdout.match(/✔ completed/g)).toHaveLength(2);
  expect(stdout).toContain('you and again');
  expect(await command('close', id)).toMatchObject({ code: 0, stderr: 'The thread accepts no more messages.\n' });
  expect(await thread.result()).toMatchObject({ status: 'completed', thread: { runs: 2 } });
  expectOneLine(await command('close', id), /has ended; "longhaul show/);
});

test('a closed conversation is reopened with reopen, with its context and a message', async () => {
  const id = `again-${rig.taskQueue}`;
  await command('run', '--agent', 'tester', '--conversation', '--thread', id, 'chat: hello');
  await command('close', id);
  expectOneLine(await command('send', id, 'and again'), new RegExp(`"longhaul reopen ${id}"`));
  expect(await command('reopen', id, 'and again', '--by', 'dana', '--reason', 'one more')).toMatchObject({
    code: 0,
    stderr: 'The conversation is open, and the message was accepted.\n',
  });
  const { stdout } = await command('events', id);
  expect(stdout).toContain('the conversation is open again (dana): one more');
  expect(stdout.match(/✔ completed/g)).toHaveLength(2);
  expect(await command('reopen', id)).toMatchObject({ code: 0, stderr: 'The conversation is open.\n' });
  await command('close', id);
  expectOneLine(await command('reopen', 'no-such-thread'), /there is no thread "no-such-thread"/);
});

test.each(['send T x', 'submit T c x', 'events T', 'show T'])('for a thread that does not exist "%s" says so in one line', async (line) => {
  const ended = await command(...line.split(' ').map((word) => (word === 'T' ? 'no-such-thread' : word)));
  expectOneLine(ended, /there is no thread "no-such-thread" in this namespace; "longhaul list" lists the existing ones/);
  expect(ended).toMatchObject({ code: 1, stdout: '' });
});

test('events begin where requested, and stop at the newest', async () => {
  const { thread } = await waiting('deploy');
  const { seq } = await thread.status();
  const { stdout, code } = await command('events', thread.id, '--from', '3', '--no-follow', '--json');
  expect(eventsOf(stdout).map((event) => event.seq)).toEqual(Array.from({ length: seq - 2 }, (_, i) => i + 3));
  expect(code).toBe(0);

  const following = start(['events', thread.id, '--from', String(seq), '--json'], { env });
  await following.says('requires_action');
  await thread.cancel();
  const events = eventsOf((await following.ended).stdout);
  expect(events.at(-1)).toMatchObject({ type: 'thread.run.cancelled' });
});

test('a refusal of a thread is reported with the names of the command and its options', async () => {
  const { thread, call } = await waiting('look');
  const { toolCallId } = call;
  expectOneLine(await command('answer', thread.id, 'none', 'blue'), /^error: answer was refused by thread "\S+": "none" does not wait/);
  expectOneLine(await command('submit', thread.id, 'none', 'blue'), /^error: submit was refused by thread "\S+": "none" does not wait/);
  expectOneLine(await command('reject', thread.id, toolCallId), /^error: reject was refused by thread/);
  expectOneLine(
    await command('send', thread.id, 'x', '--id', 'two words'),
    /^error: send was refused by thread .*: --id must be 1 to 128 letters/,
  );
  expectOneLine(await command('send', thread.id, 'x', '--after-run'), /; start a conversation, or leave out --after-run$/);
  expectOneLine(await command('reject', thread.id, toolCallId, '--reason', 'x'.repeat(5_000)), /: --reason has 5000 characters/);
  await thread.cancel();
  const { thread: other, call: asked } = await waiting('deploy');
  expectOneLine(
    await command('approve', other.id, asked.toolCallId, '--more', '3'),
    /: --more is for a limit that a person is asked about/,
  );
  await other.cancel();
});

test('approve prints what it approves, and approves nothing else', async () => {
  const { thread, call } = await waiting('deploy');
  const other = await command('approve', thread.id, call.toolCallId, '--expect', '0000000000000000');
  expectOneLine(other, new RegExp(`"${call.toolCallId}" \\(deploy\\) has the digest ${call.digest}, and "0000000000000000" was expected`));
  expect(other.code).toBe(1);
  expect(await command('approve', thread.id, call.toolCallId, '--expect', call.digest ?? '')).toMatchObject({
    code: 0,
    stderr: `Approving deploy of agent ${call.agent} (${call.digest})\n    to: production\n${call.toolCallId} is approved.\n`,
  });
  expect((await thread.result()).output).toContain('deployed to production');
});

test('show prints the state of a thread and what it waits for', async () => {
  const { thread, call } = await waiting('deploy');
  const { stdout, code } = await command('show', thread.id);
  expect(stdout).toMatch(/status +requires_action \(workflow running\)/);
  expect(stdout).toMatch(/history +[\d.]+ kB in \d+ events/);
  expect(stdout).toContain('needs an approval: deploy\n  to: production\n');
  expect(stdout).toContain(`longhaul approve ${thread.id} ${call.toolCallId} --expect ${call.digest}`);
  expect(stdout).toMatch(/web ui .*\/namespaces\/default\/workflows\/thread_/);
  expect(code).toBe(0);
  const json = JSON.parse((await command('show', thread.id, '--json')).stdout);
  expect(json).toMatchObject({
    threadId: thread.id,
    execution: 'RUNNING',
    status: { pending: [{ name: 'deploy' }] },
    history: { events: expect.any(Number) },
  });
  expect(json.messages).toHaveLength(2);
  await thread.cancel();
});

test('list shows threads, and an invalid filter is a usage error', async () => {
  const { thread } = await waiting('deploy');
  const mine = ['--query', `TaskQueue = '${rig.taskQueue}' AND WorkflowId = '${thread.id}'`];
  const { stdout } = await until(
    () => command('list', ...mine),
    (ended) => ended.stdout.includes('requires_action'),
  );
  expect(stdout).toMatch(new RegExp(`^THREAD +AGENT +STATUS +STARTED.*\\n${thread.id} +tester +requires_action \\(deploy\\) +20`));
  const [summary] = (await command('list', '--json', ...mine)).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(summary).toMatchObject({ id: thread.id, agent: 'tester', execution: 'RUNNING', status: 'requires_action', pendingTool: 'deploy' });

  const wrong = await command('list', '--query', 'Nonsense = 1');
  expectOneLine(wrong, /^error: list: the server did not understand the filter: (?!Failed to list|.*INVALID_ARGUMENT).*Nonsense/);
  expect(wrong.code).toBe(2);
  expectOneLine(await command('list', '--query', "AgentName = 'x' ANDD 1"), /syntax error at its character 17, near 'ANDD'$/);
  expectOneLine(await command('replay', '--query', 'AgentName = '), /^error: replay: .* syntax error at its end$/);
  await thread.cancel();
});

test('without a worker a request ends with a clear message, and show still prints what the server knows', async () => {
  const [sent, shown] = await Promise.all([alone.sent.ended, alone.shown.ended]);
  expectOneLine(sent, /^error: send: no worker answers for thread .*The thread is safe/);
  expect(sent.code).toBe(1);
  expect(shown.stdout).toContain(`queue      nobody-${rig.taskQueue}`);
  expect(shown.stdout).toContain('agent      tester\n');
  expect(shown.stderr).toMatch(/no worker answers/);
  expect(shown.code).toBe(0);
});
