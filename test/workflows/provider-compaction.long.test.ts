import { z } from 'zod';
import { type AgentDefinition, defineAgent } from '../../src/agents/define-agent';
import { memoryArtifacts } from '../../src/artifacts';
import type { AgentEvent } from '../../src/core/event';
import { textOf } from '../../src/core/message';
import { defaultModels } from '../../src/models/registry';
import { defineTool } from '../../src/tools';
import {
  type CompactingReply,
  type CompactingRequest,
  type CompactingServer,
  compactionTokens,
  sealed,
  startCompactingServer,
} from '../support/compacting-server';
import { collect, type Rig, startRig } from '../support/rig';
import { ofType, story } from './scenes';

const read = defineTool({
  name: 'read',
  description: 'Reads.',
  input: z.object({ name: z.string() }),
  effect: 'pure',
  execute: ({ name }) => `content of ${name}. ${'x'.repeat(300)}`,
});

const models = { anthropic: 'anthropic/claude-opus-4-6', 'openai-responses': 'openai-responses/gpt-5.2' } as const;
type Vendor = keyof typeof models;
const vendors = Object.keys(models) as Vendor[];

/** 85 % of 72,000 tokens are 61,200. */
const context = { windowTokens: 80_000, reserveTokens: 8_000, compaction: 'provider', keepTurns: 1, summaryTokens: 300 } as const;
const trigger = 61_200;
const agentOf = (name: string, model: AgentDefinition['model'], more: Partial<AgentDefinition> = {}) =>
  defineAgent({ name, model, instructions: 'Work.', tools: [read], context, retry: { maxAttempts: 1 }, ...more });
const agents = vendors.flatMap((vendor) => [
  agentOf(vendor, models[vendor]),
  agentOf(`${vendor}-with-fallback`, [models[vendor], 'openai/gpt-4.1']),
  agentOf(`${vendor}-by-engine`, models[vendor], { context: { ...context, compaction: 'engine' } }),
]);
agents.push(agentOf('older-claude', 'anthropic/claude-sonnet-4-5'), agentOf('chat', 'openai/gpt-4.1'));
agents.push(agentOf('claude-then-older', ['anthropic/claude-opus-4-6', 'anthropic/claude-sonnet-4-5']));

/** The replies of the test that runs. */
let reply: (request: CompactingRequest) => CompactingReply = () => 'hold';
const store = memoryArtifacts();
let server: CompactingServer;
let rig: Rig;
beforeAll(async () => {
  server = await startCompactingServer((request) => reply(request));
  const wired = defaultModels({
    openai: { baseUrl: `${server.url}/v1`, apiKey: 'test' },
    anthropic: { baseUrl: server.url, apiKey: 'test' },
  });
  rig = await startRig({
    script: () => ({}) as never,
    agents,
    bus: true,
    worker: { artifacts: store, models: wired },
    client: { artifacts: store },
  });
});

const reading = (name: string) => ({ calls: { name: 'read', args: { name } } });
const isSummary = ({ body }: CompactingRequest) => JSON.stringify(body).includes('has become too long for the model');

/** What a request has, in order: the texts, calls and compactions of the transcript. */
function itemsOf({ vendor, body }: CompactingRequest): { kind: string; text: string }[] {
  if (vendor === 'openai-responses') {
    return body.input.map((item: any) =>
      item.type === 'message'
        ? { kind: item.role, text: typeof item.content === 'string' ? item.content : item.content.map((part: any) => part.text).join('') }
        : { kind: item.type, text: item.encrypted_content ?? item.arguments ?? item.output },
    );
  }
  return body.messages.flatMap(({ role, content, tool_calls = [] }: any) => [
    ...(typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])).map((block: any) => ({
      kind: block.type === 'text' ? role : block.type,
      text: block.text ?? (typeof block.content === 'string' ? block.content : JSON.stringify(block)),
    })),
    ...tool_calls.map((call: any) => ({ kind: 'tool_use', text: call.function.arguments })),
  ]);
}
const kindsOf = (request: CompactingRequest) => itemsOf(request).map(({ kind }) => kind);
const wordsIn = (request: CompactingRequest) =>
  itemsOf(request)
    .map(({ text }) => text)
    .join('\n');

type Scripted = CompactingReply | ((request: CompactingRequest) => CompactingReply);

/** Runs an agent to its end. The list replies to the requests, in their order, and `summary` to those for a summary by the engine. */
async function play(agent: string, replies: Scripted[], { summary = 'The engine summed up.' } = {}) {
  const first = server.requests.length;
  let turn = 0;
  reply = (request) => {
    if (isSummary(request)) return { says: `<summary>\n${summary}\n</summary>` };
    const next = replies[turn++] ?? { says: 'done' };
    return typeof next === 'function' ? next(request) : next;
  };
  const thread = await rig.client.start(agent, 'Read the files.');
  const told = await story(thread);
  const requests = server.requests.slice(first);
  return { thread, told, turns: requests.filter((one) => !isSummary(one)), summaries: requests.filter(isSummary), end: told.at(-1) };
}
const compactions = (told: readonly { type: string }[]) => ofType(told, 'thread.context.compacted').map(({ data }) => data);

/** Two files are read; then the answer compacts and reads a third one. */
const compacting = (compacts: string, more: object = {}): CompactingReply[] => [
  reading('one'),
  reading('two'),
  { compacts, ...reading('three'), inputTokens: 62_000, ...more },
];

describe.each(vendors)('%s', (vendor) => {
  test.each([false, true])(
    'above the threshold its answer has a compaction, and the next request begins with it and lacks the older messages (the answer arrives whole: %s)',
    async (whole) => {
      const { thread, told, turns, summaries, end } = await play(vendor, compacting('All of it.', { whole }));
      expect(end).toMatchObject({ type: 'thread.run.completed', data: { output: 'done', turns: 4 } });
      expect(summaries).toEqual([]);
      for (const { body } of turns) {
        expect(body.context_management).toEqual(
          vendor === 'anthropic'
            ? { edits: [{ type: 'compact_20260112', trigger: { type: 'input_tokens', value: trigger } }] }
            : [{ type: 'compaction', compact_threshold: trigger }],
        );
      }
      const [, , before, after] = turns as [CompactingRequest, CompactingRequest, CompactingRequest, CompactingRequest];
      expect(wordsIn(before)).toMatch(/content of one[\s\S]*content of two/);
      expect(kindsOf(after)).toEqual(
        vendor === 'anthropic'
          ? ['compaction', 'tool_use', 'tool_result', 'user', 'user']
          : ['compaction', 'function_call', 'function_call_output', 'user', 'user'],
      );
      expect(wordsIn(after)).toContain(vendor === 'anthropic' ? 'All of it.' : sealed('All of it.'));
      if (vendor === 'anthropic') expect(after.body.messages[0].content[0].encrypted_content).toBe(sealed('All of it.'));
      expect(wordsIn(after)).toMatch(/content of three[\s\S]*Read the files\.$/);
      expect(wordsIn(after)).not.toMatch(/content of (one|two)/);

      const [event, ...more] = compactions(told);
      expect(more).toEqual([]);
      expect(event).toMatchObject({ reason: 'window', compactedBy: models[vendor], prunedOutputs: 0, droppedMessages: 4 });
      expect(ofType(told, 'thread.context.compaction.started')).toEqual([]);
      // People and the model still read what was replaced.
      const archived = (await thread.messages({ archived: true })).map((m) => (m.role === 'tool' ? textOf(m.content) : m.role)).join('\n');
      expect(archived).toMatch(/content of one[\s\S]*content of two[\s\S]*content of three/);
      expect(wordsIn(after)).toContain(`ref=${event?.archiveRef}`);
    },
  );

  test('the model reads what was replaced, by the reference that it is told', async () => {
    const { turns } = await play(vendor, [
      ...compacting('All of it.'),
      (request) => ({ calls: { name: 'read_output', args: { ref: /ref=(\w+)/.exec(wordsIn(request))?.[1] } } }),
    ]);
    expect(wordsIn(turns.at(-1) as CompactingRequest)).toMatch(/content of one[\s\S]*content of two/);
  });

  test('the cost of the compaction counts, and the window is measured without what it replaced', async () => {
    const { thread, told } = await play(vendor, compacting('All of it.'));
    const answers = ofType(told, 'thread.message.completed').map(({ data }) => data);
    const { thread: usage } = await thread.usage();
    expect(usage.inputTokens).toBe(answers.reduce((sum, one) => sum + one.usage.inputTokens, 0));
    expect(answers[2]?.usage.inputTokens).toBe(vendor === 'anthropic' ? compactionTokens.input + 600 : 62_000);
    expect(answers[2]?.costUsd).toBeGreaterThan((answers[1]?.costUsd ?? 0) * 5);
    expect(answers[2]?.context).toMatchObject({ compactsAt: trigger });
    expect(answers[2]?.context?.usedTokens).toBeLessThan(2_000);
    expect(answers[2]?.context).not.toHaveProperty('uncompacted');
  });

  test('readers see the text of the answer while it is streamed, and not that of the compaction', async () => {
    const asked = play(vendor, [reading('one'), { compacts: 'All of it.', says: 'so it is', inputTokens: 62_000 }]);
    const { thread } = await asked;
    const shown = (await collect(thread.events())).filter(({ type }: AgentEvent) => type === 'thread.message.delta');
    expect(JSON.stringify(shown)).not.toContain('All of it.');
    expect(await thread.result()).toMatchObject({ output: 'so it is' });
  });

  test('the next run begins with the compaction, too, and the next compaction replaces it', async () => {
    const first = server.requests.length;
    const replies = [...compacting('First.'), { says: 'done' }, { compacts: 'Second.', says: 'again', inputTokens: 62_000 }];
    reply = () => replies.shift() ?? { says: 'last' };
    const thread = await rig.client.start(vendor, 'Read the files.', { mode: 'conversation' });
    await thread.result();
    for (const text of ['Go on.', 'And now?']) {
      await thread.send(text);
      await thread.result();
    }
    await thread.close();
    const [fifth, sixth] = server.requests.slice(first + 4) as [CompactingRequest, CompactingRequest];
    expect(kindsOf(fifth)[0]).toBe('compaction');
    expect(wordsIn(fifth)).toMatch(/First\.[\s\S]*Go on\.$/);
    expect(kindsOf(sixth).filter((kind) => kind === 'compaction')).toHaveLength(1);
    expect(kindsOf(sixth)[0]).toBe('compaction');
    expect(wordsIn(sixth)).toMatch(/Second\.[\s\S]*Read the files\.\nGo on\.\nAnd now\?$/);
    expect(wordsIn(sixth)).not.toMatch(/First\.|content of/);
    expect(compactions(await story(thread))).toHaveLength(2);
  });

  test('a model of another provider gets a valid request with what the compaction stands for', async () => {
    const { turns, end } = await play(`${vendor}-with-fallback`, [
      ...compacting('All of it.'),
      { status: 529, message: 'overloaded' },
      reading('four'),
      { says: 'done' },
    ]);
    expect(end).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
    for (const request of turns.slice(4)) {
      expect(request.vendor).toBe('openai');
      const text = JSON.stringify(request.body);
      expect(text).not.toMatch(/compaction|sealed|context_management|directly after this note/);
      expect(itemsOf(request)[1]).toEqual({ kind: 'user', text: 'Read the files.' });
      expect(wordsIn(request)).toMatch(/content of three/);
      if (vendor === 'anthropic') expect(wordsIn(request)).toMatch(/<summary>\nAll of it\.\n<\/summary>/);
      else expect(wordsIn(request)).toMatch(/content of one[\s\S]*content of two/);
    }
  });

  test('the engine leaves it to the provider, which is asked above the threshold first', async () => {
    const [, ...rest] = compacting('All of it.');
    const { told, summaries } = await play(vendor, [
      { says: 'y'.repeat(40_000), ...reading('one') },
      { says: 'y'.repeat(40_000), ...reading('more'), inputTokens: trigger - 1 },
      ...rest.slice(1),
    ]);
    expect(summaries).toEqual([]);
    expect(compactions(told)).toEqual([expect.objectContaining({ compactedBy: models[vendor] })]);
  });

  test('if the provider does not compact although it was asked, the engine does', async () => {
    const files = ['one', 'two', 'three', 'four'];
    const { told, summaries, turns } = await play(
      vendor,
      files.map((name, i) => ({ says: 'y'.repeat(40_000), ...reading(name), inputTokens: i === 3 ? 70_000 : 10_000 })),
    );
    expect(summaries).toHaveLength(1);
    expect(compactions(told)).toEqual([expect.objectContaining({ reason: 'window', spent: expect.any(Object) })]);
    expect(wordsIn(turns.at(-1) as CompactingRequest)).toContain('The engine summed up.');
  });

  test('if the provider rejects the request after a compaction as too long, the engine makes room, and its summary takes over', async () => {
    const rejected = { status: 400, message: 'prompt is too long: 90000 tokens > 80000 maximum', code: 'context_length_exceeded' };
    const { told, end, summaries, turns } = await play(vendor, [
      ...compacting('All of it.'),
      { says: 'y'.repeat(40_000), ...reading('four') },
      { says: 'y'.repeat(40_000), ...reading('five') },
      rejected,
    ]);
    expect(end).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
    expect(summaries).toHaveLength(1);
    expect(wordsIn(summaries[0] as CompactingRequest)).toMatch(vendor === 'anthropic' ? /All of it\./ : /content of one/);
    expect(compactions(told).map(({ reason, compactedBy }) => [reason, compactedBy])).toEqual([
      ['window', models[vendor]],
      ['context-length', undefined],
    ]);
    const last = turns.at(-1) as CompactingRequest;
    expect(kindsOf(last)).not.toContain('compaction');
    expect(wordsIn(last)).toMatch(/^(Work\.\n)?Read the files\.\n[\s\S]*The engine summed up\./);
  });

  test('without the setting the provider is not asked', async () => {
    const { turns, end } = await play(`${vendor}-by-engine`, [reading('one')]);
    expect(end).toMatchObject({ type: 'thread.run.completed' });
    for (const { body, beta } of turns) {
      expect(body).not.toHaveProperty('context_management');
      expect(beta).toBeUndefined();
    }
  });
});

test('a summary that the engine makes right after a compaction that others can not read takes its place', async () => {
  const rejected = { status: 400, message: 'Your input exceeds the context window of this model.', code: 'context_length_exceeded' };
  const { turns, summaries } = await play('openai-responses', [
    { says: 'y'.repeat(40_000), ...reading('one') },
    ...compacting('All of it.').slice(1),
    rejected,
  ]);
  expect(summaries).toHaveLength(1);
  expect(wordsIn(summaries[0] as CompactingRequest)).toMatch(/\[calls read .*"two"/);
  const last = turns.at(-1) as CompactingRequest;
  expect(kindsOf(last)).toEqual(['user', 'user', 'function_call', 'function_call_output']);
  expect(wordsIn(last)).toMatch(/^Read the files\.[\s\S]*The engine summed up\.[\s\S]*content of three/);
});

test.each(['older-claude', 'chat'])('for a model whose provider does not compact, the engine does: %s', async (agent) => {
  const files = ['one', 'two', 'three'];
  const { turns, summaries } = await play(
    agent,
    files.map((name, i) => ({ says: 'y'.repeat(40_000), ...reading(name), inputTokens: i === 2 ? 70_000 : 10_000 })),
  );
  for (const { body } of turns) expect(body).not.toHaveProperty('context_management');
  expect(summaries).toHaveLength(1);
});

test('an older model of the same family, which can not read the compaction, gets the summary', async () => {
  const { turns } = await play('claude-then-older', [...compacting('All of it.'), { status: 529, message: 'overloaded' }]);
  const { body, beta } = turns.at(-1) as CompactingRequest;
  expect(body.model).toBe('claude-sonnet-4-5');
  expect(beta).toBeUndefined();
  expect(kindsOf(turns.at(-1) as CompactingRequest)).not.toContain('compaction');
  expect(wordsIn(turns.at(-1) as CompactingRequest)).toMatch(/<summary>\nAll of it\.\n<\/summary>/);
});

test.each(vendors)('a thread that continues as new takes the compaction along: %s', async (vendor) => {
  const carrying = await startRig({
    script: () => ({}) as never,
    agents,
    worker: {
      artifacts: store,
      models: defaultModels({
        openai: { baseUrl: `${server.url}/v1`, apiKey: 'test' },
        anthropic: { baseUrl: server.url, apiKey: 'test' },
      }),
      continueAsNewAfter: { events: 20, bytes: 1_000 },
    },
  });
  const first = server.requests.length;
  const replies = [...compacting('All of it.'), reading('four'), reading('five')];
  reply = () => replies.shift() ?? { says: 'done' };
  const thread = await carrying.client.start(vendor, 'Read the files.');
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { turns: 6 } });
  const description = await carrying.client.temporal.workflow.getHandle(thread.id).describe();
  expect(description.raw.workflowExecutionInfo?.firstRunId).not.toBe(description.runId);
  for (const request of server.requests.slice(first + 3)) {
    expect(kindsOf(request)[0]).toBe('compaction');
    expect(wordsIn(request)).not.toMatch(/content of (one|two)/);
  }
});
