import { z } from 'zod';
import { defineAgent } from '../../src/agents';
import { type ArtifactStore, memoryArtifacts } from '../../src/artifacts';
import type { Part } from '../../src/core/message';
import { defineHooks } from '../../src/hooks';
import { callTools, fail, say, type WireMessage } from '../../src/testing/model-server';
import { defineTool } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { ask, flood, reaches } from './asking';
import { expectPaired, ofType, requestsOf, scenes, story, textOf } from './scenes';

const { script, scene } = scenes();

const long = Array.from({ length: 20_000 }, (_, at) => `line ${at}`).join('\n');
const photo = Buffer.alloc(5_000_000, 'photo').toString('base64');

const values: Record<string, unknown> = {
  code: `${'x'.repeat(2_000)}\nthe code is 4711\n${'x'.repeat(2_000)}`,
  filler: 'y\n'.repeat(3_000),
  long,
  short: 'short',
  photo: [
    { type: 'text', text: 'a photo' },
    { type: 'image', url: `data:image/png;base64,${photo}` },
  ] satisfies Part[],
};
const gives = defineTool({
  name: 'gives',
  description: 'Gives something.',
  input: z.object({ what: z.string() }),
  effect: 'pure',
  execute: ({ what }) => values[what],
});
const later = defineTool({ name: 'later', description: 'Later.', input: z.object({}), background: true, execute: () => long });
const base = { model: 'test-model', instructions: 'Use tools.', tools: [gives, later] };
const agent = defineAgent({ ...base, name: 'reads' });
const redacts = defineAgent({ ...base, name: 'redacts', hooks: defineHooks({ 'after:tool': () => ({ content: 'removed' }) }) });
const closed = defineAgent({ ...base, name: 'closed', readOutputs: false });
const toolless = defineAgent({ name: 'toolless', model: 'test-model', instructions: 'Talk.' });
/** Above 8,500 tokens the older turns are replaced by a summary. */
const context = { windowTokens: 12_000, reserveTokens: 2_000, pruneMinimumTokens: 1_000_000, keepTurns: 1, summaryTokens: 500 };
const summarized = defineAgent({ ...base, name: 'summarized', context });
/** Its window is not known: the provider rejects what is too long. */
const rejected = defineAgent({
  ...base,
  name: 'rejected',
  context: { pruneMinimumTokens: 1_000_000, keepTurns: 1 },
  retry: { baseMs: 10, maxAttempts: 2 },
});
const ship = defineTool({ name: 'ship', description: 'Ships.', input: z.object({}), approval: 'always', execute: () => 'shipped' });
const waits = defineAgent({ ...base, name: 'waits', tools: [ship], context: { windowTokens: 2_000_000 } });
const agents = [agent, redacts, closed, toolless, summarized, rejected];

let rig: Rig;
const store = memoryArtifacts();
beforeAll(async () => {
  rig = await startRig({ script, agents, bus: true, worker: { artifacts: store }, client: { artifacts: store } });
});

/** A run with one call, in which the model gets its result; with a worker of its own if `artifacts` is given. */
async function afterCall(name: string, args: object, { by = agent, on = rig }: { by?: typeof agent; on?: Rig } = {}) {
  const input = scene([callTools([{ name, args, id: 'c1' }]), say('done')]);
  const thread = await on.client.start(by, input);
  const told = await story(thread);
  const [completed] = ofType(told, 'agent.tool.execution.completed');
  const sent = (requestsOf(on, input)[1]?.body.messages ?? []).slice(2);
  return { thread, completed, sent, end: told.at(-1) };
}

function resultIn(sent: WireMessage[]): unknown {
  return sent.find((message) => message.role === 'tool')?.content;
}

test('[B59] the model and the events have a view of a long output with a reference, and the client reads all of it', async () => {
  const { thread, completed, sent } = await afterCall('gives', { what: 'long' });
  const { output, outputRef, toolCallId } = completed?.data ?? {};
  expect(outputRef).toEqual({ id: expect.any(String), bytes: long.length, lines: 20_000, mediaType: 'text/plain', trimmed: true });
  expect(output).toContain(`[tool output truncated; ref=${outputRef?.id}]`);
  expect(resultIn(sent)).toBe(output);
  expect((await thread.messages()).find(({ role }) => role === 'tool')).toMatchObject({ outputRef });
  expect(await thread.output(toolCallId ?? '')).toEqual({ name: 'gives', content: long, outputRef });
});

test('a short output is read whole from the events', async () => {
  const { thread, completed } = await afterCall('gives', { what: 'short' });
  expect(await thread.output(completed?.data.toolCallId ?? '')).toEqual({ name: 'gives', content: 'short' });
  await expect(thread.output('none')).rejects.toMatchObject({ code: 'output-unavailable' });
});

test('[B103] [B123] the model reads and searches what was cut, and gets it uncut', async () => {
  let ref = '';
  const steps = [
    () => callTools([{ name: 'gives', args: { what: 'long' }, id: 'c1' }]),
    (said: string) => {
      ref = /ref=(\w+)\]/.exec(said)?.[1] ?? '';
      return callTools([{ name: 'grep_output', args: { ref, pattern: 'line 9999', after: 1 }, id: 'c2' }]);
    },
    () => callTools([{ name: 'read_output', args: { ref, offset: 10_000 }, id: 'c3' }]),
    () => say('done'),
  ];
  let turn = 0;
  const input = scene(({ body }) => {
    const last = body.messages.at(-1)?.content;
    return steps[turn++]?.(typeof last === 'string' ? last : '') ?? say('done');
  });
  const told = await story(await rig.client.start(agent, input));
  const [, found, page] = ofType(told, 'agent.tool.execution.completed').map(({ data }) => data);
  expect(found).toMatchObject({ status: 'success', output: 'L10000: line 9999\nL10001- line 10000' });
  expect(page?.output).toMatch(/^L10000: line 9999\n[\s\S]+\[\.\.\. 8\d\d\d more lines; go on with offset 1\d{4} \.\.\.\]$/);
  expect(page).not.toHaveProperty('outputRef');
});

test('the model finds in what summaries replaced what they do not say', async () => {
  const refsIn = (text: string) => [...text.matchAll(/ref=(\w+)/g)].map(([, ref = '']) => ref);
  const found: string[] = [];
  let turn = 0;
  const input = scene(
    ({ body }) => {
      const summary = body.messages.map(textOf).find((text) => text.includes('grep_output'));
      const refs = refsIn(summary ?? '');
      const last = textOf(body.messages.at(-1));
      if (last.startsWith('L')) found.push(last);
      if (refs.length < 3) return callTools([{ name: 'gives', args: { what: turn++ === 0 ? 'code' : 'filler' } }]);
      // Two summaries later, the first archive is still named.
      return found.length === 0
        ? callTools([{ name: 'grep_output', args: { ref: refs[0], pattern: 'the code is \\d+', regex: true } }])
        : say('done');
    },
    'Remember',
    () => say('<summary>\nNothing of note.\n</summary>'),
  );
  const thread = await rig.client.start(summarized, input);
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed' });
  expect(found.join()).toMatch(/the code is 4711/);
  const archives = ofType(told, 'thread.context.compacted').map(({ data }) => data.archiveRef);
  expect(archives.length).toBeGreaterThanOrEqual(3);
  expect(new Set(archives).size).toBe(archives.length);
});

test('the model finds in what was dropped without a summary what it was told, also after more was dropped', async () => {
  const told: string[] = [];
  const notes = new Set<string>();
  let turn = 0;
  const input = scene(
    ({ body }) => {
      if (JSON.stringify(body).length > 30_000) return fail(400, { code: 'context_length_exceeded' });
      const found = body.messages.map(textOf).filter((text) => text.includes('Older messages were left out here'));
      expect(found.length).toBeLessThanOrEqual(1);
      for (const note of found) notes.add(note);
      const last = textOf(body.messages.at(-1));
      if (last.startsWith('L')) told.push(last);
      if (notes.size < 2) return callTools([{ name: 'gives', args: { what: 'filler' } }], turn++ === 0 ? 'The code is 4711.' : '');
      const [ref] = /(?<=ref=)\w+/.exec(found[0] ?? '') ?? [];
      return told.length === 0 ? callTools([{ name: 'grep_output', args: { ref, pattern: 'the code', ignore_case: true } }]) : say('done');
    },
    'Remember',
    () => fail(401),
  );
  const thread = await rig.client.start(rejected, input);
  const events = await story(thread);
  expect(events.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'done' } });
  expect(told.join()).toContain('The code is 4711.');
  const compacted = ofType(events, 'thread.context.compacted').map(({ data }) => data);
  const dropped = compacted.filter(({ droppedMessages }) => droppedMessages > 0);
  expect(dropped.length).toBeGreaterThanOrEqual(2);
  for (const data of dropped) expect(data).toMatchObject({ reason: 'context-length', archiveRef: expect.any(String) });
  const archived = await thread.messages({ archived: true });
  expect(JSON.stringify(archived)).toContain('The code is 4711.');
  expectPaired(archived);
  expectPaired(await thread.messages());
});

test('the model finds in what continue-as-new removed what it was told', async () => {
  const away = await startRig({
    script,
    agents: [agent],
    worker: { artifacts: store, continueAsNewAfter: { events: 8_000, bytes: 1_500_000 } },
    client: { artifacts: store },
  });
  const refs = (body: { messages: WireMessage[] }) =>
    body.messages
      .map(textOf)
      .flatMap((text) => (text.includes('Older messages were left out here') ? (text.match(/(?<=ref=)\w+/g) ?? []) : []));
  const input = scene(({ body }) => {
    const last = textOf(body.messages.at(-1));
    if (last === 'What is the code?')
      return callTools([{ name: 'grep_output', args: { ref: refs(body)[0], pattern: 'the code is \\d+', regex: true } }]);
    return say(last.startsWith('L') ? last : 'noted');
  });
  const thread = await away.client.start(agent, input, { mode: 'conversation' });
  const filler = 'x'.repeat(400_000);
  const runs = async (count: number) =>
    until(
      async () => ({ ...(await thread.usage()), ...(await thread.status()) }),
      ({ status, runs: made, queued }) => status === 'idle' && made === count && queued === 0,
    );
  const said = ['the code is 4711', '', '', '', 'end'].map((text) => `${text} ${filler}`);
  for (const [i, text] of [...said, 'What is the code?'].entries()) {
    await runs(i + 1);
    await thread.send(text);
  }
  await runs(said.length + 2);
  await thread.close();
  const events = await story(thread);
  expect(ofType(events, 'thread.run.completed').at(-1)?.data.output).toContain('the code is 4711');
  const carried = ofType(events, 'thread.context.compacted').map(({ data }) => data);
  expect(carried.length).toBeGreaterThanOrEqual(1);
  for (const data of carried) expect(data).toMatchObject({ reason: 'carry-over', archiveRef: expect.any(String) });
  expect((await thread.messages({ archived: true })).filter(({ role }) => role === 'user').length).toBeGreaterThanOrEqual(7);
});

test('a thread that only receives requests continues as new, and stores first what that removes: while a call waits, and when idle', async () => {
  const flooded = await startRig({
    script,
    agents: [waits],
    worker: { artifacts: store, continueAsNewAfter: { events: 200, bytes: 50_000_000 } },
    client: { artifacts: store },
  });
  const input = scene(({ body }) =>
    textOf(body.messages.at(-1)).startsWith('Ship') ? callTools([{ name: 'ship', args: {} }]) : say('noted'),
  );
  const thread = await flooded.client.start(waits, input, { mode: 'conversation' });
  const filler = 'x'.repeat(450_000);
  const talk = async (texts: string[], wanted: string) => {
    for (const text of texts) {
      await thread.send(`${text} ${filler}`);
      await until(
        () => thread.status(),
        ({ status, queued }) => status === (text === texts.at(-1) ? wanted : 'idle') && queued === 0,
      );
    }
  };
  await reaches(thread, 'idle');
  await talk(['the code is 4711', 'b', 'c', 'Ship it.'], 'requires_action');
  await flood(thread);
  expect(await thread.pending()).toHaveLength(1);
  const [call] = await thread.pending();
  await ask(thread, 'approve', { toolCallId: call?.toolCallId });
  await reaches(thread, 'idle');
  await talk(['d', 'e'], 'idle');
  await flood(thread);
  await thread.close();
  const events = await story(thread);
  const compacted = ofType(events, 'thread.context.compacted').map(({ data }) => data);
  expect(compacted.map(({ reason, archiveRef }) => [reason, typeof archiveRef])).toEqual([
    ['carry-over', 'string'],
    ['carry-over', 'string'],
  ]);
  expect(ofType(events, 'agent.tool.execution.completed')).toHaveLength(1);
  expectPaired(await thread.messages());
});

test('a thread can not read the output of another, even with its reference', async () => {
  const { completed } = await afterCall('gives', { what: 'long' });
  const stolen = await afterCall('read_output', { ref: completed?.data.outputRef?.id });
  expect(stolen.completed?.data).toMatchObject({ status: 'failed', output: expect.stringContaining('This thread has no stored output') });
});

test.each([
  [agent, ['gives', 'later', 'read_output', 'read_output_line', 'grep_output']],
  [closed, ['gives', 'later']],
  [toolless, []],
])('the tools that read outputs are offered to agents with tools that do not opt out: $name', async (by, names) => {
  const input = scene([say('done')]);
  await story(await rig.client.start(by, input));
  const body = requestsOf(rig, input)[0]?.body as { tools?: { function: { name: string } }[] } | undefined;
  expect((body?.tools ?? []).map((tool) => tool.function.name)).toEqual(names);
});

test('an image of 5 MB reaches the model, and the history holds only a reference', async () => {
  const { thread, completed, sent } = await afterCall('gives', { what: 'photo' });
  const url = `data:image/png;base64,${photo}`;
  expect(sent.flatMap(({ content }): unknown => content)).toContainEqual(
    expect.objectContaining({ image_url: expect.objectContaining({ url }) }),
  );
  expect(JSON.stringify(completed).length).toBeLessThan(2_000);
  expect(await thread.output(completed?.data.toolCallId ?? '')).toMatchObject({ content: values.photo });
});

test('what a hook puts in place of an output has no reference to the output', async () => {
  const { thread, completed } = await afterCall('gives', { what: 'long' }, { by: redacts });
  expect(completed?.data).toMatchObject({ output: 'removed' });
  expect(completed?.data).not.toHaveProperty('outputRef');
  expect(await thread.output(completed?.data.toolCallId ?? '')).toEqual({ name: 'gives', content: 'removed' });
});

test('the output of a background call has a reference', async () => {
  const input = scene([callTools([{ name: 'later', args: {}, id: 'c1' }]), say('wait'), say('done')]);
  const thread = await rig.client.start(agent, input);
  const [completed] = ofType(await story(thread), 'agent.tool.background.completed');
  expect(completed?.data.outputRef).toMatchObject({ bytes: long.length, trimmed: true });
  expect(await thread.output(completed?.data.toolCallId ?? '')).toMatchObject({ content: long });
});

test('outputs that are deleted are said to be gone, and the thread stays', async () => {
  const { thread, completed } = await afterCall('gives', { what: 'long' });
  await thread.deleteOutputs();
  await expect(thread.output(completed?.data.toolCallId ?? '')).rejects.toThrow(
    /the store does not have it \(\w+\)\. It was deleted, or the workers use another store/,
  );
  expect(await thread.messages()).toHaveLength(4);
});

describe('workers whose store does not work', () => {
  const gone: ArtifactStore = {
    ...memoryArtifacts(),
    put: () => Promise.reject(new Error('ENOSPC: no space left on device')),
  };

  test.each([
    ['no store', null],
    ['a full store', gone],
  ])('[B127] with %s the call succeeds, and the view says what is lost', async (_, artifacts) => {
    const on = await startRig({ script, agents, worker: { artifacts } });
    const { completed, end } = await afterCall('gives', { what: 'long' }, { on });
    expect(completed?.data).toMatchObject({ status: 'success', output: expect.stringContaining('left out, not kept') });
    expect(completed?.data).not.toHaveProperty('outputRef');
    expect(end?.type).toBe('thread.run.completed');
  });

  test('a model call on a worker that can not read an image goes on without it, and says so', async () => {
    const unreadable: ArtifactStore = { ...memoryArtifacts(), get: async () => undefined };
    const on = await startRig({ script, agents, worker: { artifacts: unreadable } });
    const { sent, end } = await afterCall('gives', { what: 'photo' }, { on });
    expect(JSON.stringify(sent)).toContain('[image not shown: This thread has no stored output with ref');
    expect(end?.type).toBe('thread.run.completed');
  });
});
