import { z } from 'zod';
import { type CoderOptions, createCoder } from '../../src/agents/coder';
import { defineAgent, factsOf, type ToolSource } from '../../src/agents/define-agent';
import { AgentNotFoundError, createAgents } from '../../src/agents/registry';
import { defaultTurns } from '../../src/core/agent';
import type { ToolCall } from '../../src/core/message';
import { defineTool } from '../../src/tools/defining/define-tool';
import { createToolset } from '../../src/tools/defining/toolset';
import { createPermissions } from '../../src/tools/permissions/permissions';
import { callOf, hostWith, newFolder, removeFolders } from '../tools/tool-host';

afterEach(removeFolders);

const good = { name: 'support', model: 'openai/gpt-5', instructions: 'Help.' };
const refund = defineTool({ name: 'refund', description: 'Refund.', input: z.object({}) });

describe('defineAgent', () => {
  test('an agent without tools is a plain chat', () => {
    const agent = defineAgent(good);
    expect(agent.toolbox.specs()).toEqual([]);
    expect(agent).toMatchObject({ strategy: 'by-effect', settings: {}, limits: {}, retry: { maxAttempts: 5 } });
    expect(factsOf(agent)).toEqual({
      context: { compactAt: 0.85, auto: true, keepTurns: 3, summaryTokens: 4_096 },
      name: 'support',
      model: 'openai/gpt-5',
      limits: {},
      strategy: 'by-effect',
      remembers: false,
      judgesDecisions: true,
      checksEdits: true,
      ownBackground: true,
    });
  });

  test('does not change if its definition is changed afterwards', () => {
    const limits = { turns: 3 };
    const tools = [refund];
    const agent = defineAgent({ ...good, limits, tools });
    limits.turns = 9;
    tools.pop();
    expect(agent.limits).toEqual({ turns: 3 });
    expect(agent.toolbox.names()).toEqual(['refund']);
    expect(() => Object.assign(agent.limits, { turns: 4 })).toThrow(TypeError);
  });

  test('[A88] [B6] a run has 100 turns by default, and another number if one is set', () => {
    expect(defaultTurns).toBe(100);
    expect(factsOf(defineAgent(good)).limits).toEqual({});
    for (const turns of [10, 200, 0]) expect(factsOf(defineAgent({ ...good, limits: { turns } })).limits).toEqual({ turns });
  });

  test('facts are the differences from the defaults, as plain JSON', () => {
    const unremarkable = {
      threadLimits: {},
      atLimit: 'stop',
      stop: 'immediate',
      toolFailure: 'continue',
      outputRetries: 5,
      completionChecks: 1,
      hookErrors: 3,
    } as const;
    expect(factsOf(defineAgent({ ...good, ...unremarkable }))).toEqual(factsOf(defineAgent(good)));

    const remarkable = {
      limits: { turns: 10, toolRounds: 4, toolCalls: 20, tokens: 1e6, costUsd: 0.5, wallClockMs: 60_000, contextTokens: 0 },
      threadLimits: { costUsd: 5 },
      atLimit: 'ask',
      stop: { kind: 'done-tool', nudge: 'Call done.' },
      toolFailure: 'fail',
      outputRetries: 0,
      emptyRetries: 1,
      completionChecks: 0,
      hookErrors: 1,
    } as const;
    const hooks = { ids: () => ({ 'before:llm': ['before:llm#1'] }), run: async () => ({ answer: {}, reports: [] }) } as never;
    const facts = factsOf(defineAgent({ ...good, ...remarkable, output: z.object({ zip: z.string() }), hooks }));
    const { name, model } = good;
    expect(facts).toEqual({
      name,
      model,
      strategy: 'by-effect',
      remembers: false,
      judgesDecisions: true,
      checksEdits: true,
      ownBackground: true,
      context: { compactAt: 0.85, auto: true, keepTurns: 3, summaryTokens: 4_096 },
      ...remarkable,
      hooks: { 'before:llm': ['before:llm#1'] },
    });
    expect(JSON.parse(JSON.stringify(facts))).toEqual(facts);
    expect(factsOf(defineAgent({ ...good, output: z.object({}) })).outputRetries).toBe(2);
  });

  test.each<[string, object | null | string, RegExp]>([
    ['an unknown field', { windowToken: 1 }, /context\.windowToken: is not known; did you mean 'windowTokens'/],
    ['a threshold above the whole window', { compactAt: 1.2 }, /context\.compactAt: /],
    ['a threshold of nothing', { compactAt: 0 }, /context\.compactAt: /],
    ['a window of nothing', { windowTokens: 0 }, /context\.windowTokens: /],
    ['half a turn', { keepTurns: 0.5 }, /context\.keepTurns: /],
    ['an unknown compactor', { compaction: 'model' }, /context\.compaction: /],
    ['an empty prompt', { prompt: '  ' }, /context\.prompt: is empty/],
    ['a model without a name', { model: '' }, /context\.model/],
    ['a text', 'small', /context: /],
    ['a reserve as large as the window', { windowTokens: 8_000, reserveTokens: 8_000 }, /reserveTokens: \(8000\) must be below .*\(8000\)/],
    [
      'summaries longer than the transcript may become',
      { windowTokens: 8_000, reserveTokens: 1_000, compactAt: 0.5, summaryTokens: 4_000 },
      /summaryTokens: \(4000\) must be below 3500 \(0\.5 of 8000 - 1000\)/,
    ],
    [
      'a window that the instructions fill',
      { windowTokens: 400 },
      /windowTokens: the instructions and tools take about 300 tokens, .* below 255/,
    ],
  ])("[A154] a context that can't be kept is refused: %s", (_what, context, problem) => {
    expect(() => defineAgent({ ...good, instructions: 'x'.repeat(1_200), context: context as never })).toThrow(problem);
  });

  test('[B93] what is set of the context is used, and null disables it', () => {
    const context = {
      windowTokens: 50_000,
      reserveTokens: 9_000,
      compactAt: 0.7,
      pruneProtectTokens: 5,
      pruneMinimumTokens: 6,
      keepTurns: 0,
    };
    const agent = defineAgent({ ...good, context });
    expect(agent.context).toMatchObject(context);
    const { windowTokens: _, reserveTokens: __, ...policy } = context;
    expect(factsOf(agent).context).toEqual({ ...policy, auto: true, summaryTokens: 4_096 });
    expect(factsOf(defineAgent({ ...good, context: null })).context).toBeNull();
  });

  test('the thread knows if compaction is left to the provider, and otherwise nothing of it', () => {
    const factsWith = (compaction: 'engine' | 'provider') => factsOf(defineAgent({ ...good, context: { compaction } })).context;
    expect(factsWith('provider')).toHaveProperty('compaction', 'provider');
    expect(factsWith('engine')).not.toHaveProperty('compaction');
  });

  test.each([
    ['[B15] immediate, which skips the verification', 'immediate', undefined],
    ['[B5] verify, once and at most three times a run', 'verify', { kind: 'verify', rounds: 1, max: 3 }],
    [
      '[B5] verify with its own maximum',
      { kind: 'verify', max: 7, prompt: 'Sure?' },
      { kind: 'verify', rounds: 1, max: 7, prompt: 'Sure?' },
    ],
    ['verify with more rounds than the usual maximum', { kind: 'verify', rounds: 5 }, { kind: 'verify', rounds: 5, max: 5 }],
    ['done-tool', 'done-tool', { kind: 'done-tool' }],
  ])('%s', (_what, stop, policy) => {
    expect(factsOf(defineAgent({ ...good, stop: stop as 'verify' })).stop).toEqual(policy);
  });

  test('a partial retry policy is filled in', () => {
    expect(defineAgent({ ...good, retry: { maxAttempts: 2, backoff: 'linear' } }).retry).toMatchObject({
      maxAttempts: 2,
      backoff: 'linear',
      baseMs: 1_000,
    });
  });

  test('a tool choice may force a tool it has', () => {
    expect(defineAgent({ ...good, tools: [refund], settings: { toolChoice: { tool: 'refund' } } }).settings.toolChoice).toEqual({
      tool: 'refund',
    });
  });

  test.each([
    ['no name', { name: '' }, /the name "" is not usable/],
    ['no model', { model: ' ' }, /model: name one, such as 'openai\/gpt-5'/],
    ['no instructions', { instructions: undefined }, /instructions: give a text/],
    ['an unknown strategy', { strategy: 'all' }, /strategy: is "all"; use 'by-effect', 'sequential', 'parallel'/],
    ['a field it has not', { tool: [refund] }, /tool: is not known; did you mean 'tools'\?/],
    ['a misspelt limit', { limits: { turn: 3 } }, /limits\.turn: is not known; did you mean 'turns'\?/],
    ['a negative limit', { limits: { turns: -1 } }, /limits\.turns: /],
    ['a temperature beyond 2', { settings: { temperature: 3 } }, /settings\.temperature: /],
    ['settings that are no object', { settings: 'hot' }, /settings: /],
    ["provider options JSON can't write", { settings: { providerOptions: { f: () => 1 } } }, /settings\.providerOptions/],
    [
      'a forced tool it has not',
      { settings: { toolChoice: { tool: 'refnd' } }, tools: [refund] },
      /forces the tool 'refnd'.*it has: refund/,
    ],
    ['a required tool where there is none', { settings: { toolChoice: 'required' } }, /is 'required', but the agent has no tools/],
    ['a retry that makes no sense', { retry: { maxAttempts: 0 } }, /retry\.maxAttempts: /],
    ['a cost below zero', { limits: { costUsd: -1 } }, /limits\.costUsd: /],
    ['half a token', { limits: { tokens: 1.5 } }, /limits\.tokens: /],
    ['a limit that is no number', { limits: { wallClockMs: Number.NaN } }, /limits\.wallClockMs: /],
    ['a misspelt limit of the thread', { threadLimits: { cost: 3 } }, /threadLimits\.cost: is not known/],
    ['no way to act at a limit', { atLimit: 'halt' }, /atLimit: .*"summarize"/],
    ['an unknown stop policy', { stop: 'verfy' }, /stop: is "verfy"; use 'immediate', 'verify', 'done-tool' \(did you mean 'verify'\?\)/],
    ['a stop policy of no kind', { stop: null }, /stop: is null; use 'immediate'/],
    ['no rounds', { stop: { kind: 'verify', rounds: 0 } }, /stop\.rounds: /],
    ['a maximum below the rounds', { stop: { kind: 'verify', rounds: 3, max: 2 } }, /stop\.max: \(2\) is below stop\.rounds \(3\)/],
    ['a prompt without words', { stop: { kind: 'verify', prompt: ' ' } }, /stop\.prompt: is empty/],
    ['an option of another policy', { stop: { kind: 'done-tool', rounds: 2 } }, /stop\.rounds: is not known.*Known: kind, nudge/],
    ['an unknown tool failure policy', { toolFailure: 'retry' }, /toolFailure: /],
    ['negative retries', { outputRetries: -1, emptyRetries: -1 }, /outputRetries: [\s\S]*emptyRetries: /],
    ['half a check', { completionChecks: 0.5 }, /completionChecks: /],
    ['hooks that may never fail', { hookErrors: 0 }, /hookErrors: /],
    ['a timeout of nothing', { toolTimeoutMs: 0 }, /toolTimeoutMs: /],
    ['a timeout Node has no timer for', { toolTimeoutMs: 2 ** 31 }, /toolTimeoutMs: /],
    ['hooks that are none', { hooks: {} }, /hooks: give what defineHooks returned/],
    ['permissions that are none', { permissions: { allow: [] } }, /permissions: give what createPermissions returned/],
    ['an answer that is no zod schema', { output: { type: 'object' } }, /defineAgent 'support':\n- output is not a zod schema/],
    ['an answer that is no object', { output: z.string() }, /output is not an object at its root/],
    [
      'a done of its own where done ends the run',
      { stop: 'done-tool', tools: [defineTool({ name: 'done', description: 'Done.', input: z.object({}) })] },
      /Two tools are named 'done'.*Rename yours/,
    ],
    ['an empty workspace', { workspace: '' }, /workspace: give the path/],
    ['a tool defineTool did not make', { tools: [{ name: 'x' }] }, /tools\[0\] was not made by defineTool/],
    ['tools that are no list', { tools: { refund } }, /tools must be a list/],
    ['two tools of one name', { tools: [refund, { ...refund }] }, /defineAgent 'support':\n- Two tools are named 'refund'/],
  ])('refuses %s', (_what, wrong, message) => {
    expect(() => defineAgent({ ...good, ...wrong } as never)).toThrow(message);
  });

  test('all problems are reported together', () => {
    const wrong = { name: 'a b', model: '', limits: { turns: 0.5 }, settings: { maxTokens: 0 }, tools: [{}, refund, 3], output: {} };
    expect(() => defineAgent({ ...good, ...wrong, instruction: 'Help.' } as never)).toThrow(
      /the name "a b"[\s\S]*model:[\s\S]*tools\[0\][\s\S]*tools\[2\][\s\S]*maxTokens[\s\S]*limits\.turns[\s\S]*output is not[\s\S]*instruction: is not known; did you mean 'instructions'\?/,
    );
  });
});

describe('the tools of an agent', () => {
  const look = defineTool({ name: 'look', description: 'Look.', input: z.object({}), effect: 'pure', execute: () => 'seen' });
  const names = async (tools: ToolSource) => (await defineAgent({ ...good, tools }).toolsFor(thread)).names();
  const thread = { threadId: 't-1' };

  test('a list does not change', async () => {
    const tools = [refund];
    const agent = defineAgent({ ...good, tools });
    tools.push(look);
    expect((await agent.toolsFor(thread)).names()).toEqual(['refund']);
    expect(await agent.toolsFor(thread)).toBe(agent.toolbox);
  });

  test('[A46] a function is called at every turn, with the id of the thread', async () => {
    const source = jest.fn(({ threadId }: { threadId: string }) => (threadId === 't-1' ? [refund] : [refund, look]));
    const agent = defineAgent({ ...good, tools: source });
    expect(source).not.toHaveBeenCalled();
    expect(agent.toolbox.names()).toEqual([]);
    expect((await agent.toolsFor(thread)).names()).toEqual(['refund']);
    expect((await agent.toolsFor({ threadId: 't-2' })).names()).toEqual(['refund', 'look']);
    expect(source).toHaveBeenCalledTimes(2);
    expect(await names(async () => [look])).toEqual(['look']);
  });

  test('[A46] a changed definition is used from the next turn on', async () => {
    let words = 'Refund.';
    const agent = defineAgent({ ...good, tools: () => [defineTool({ name: 'refund', description: words, input: z.object({}) })] });
    expect((await agent.toolsFor(thread)).specs()[0]?.description).toBe('Refund.');
    words = 'Refund, up to 50.';
    expect((await agent.toolsFor(thread)).specs()[0]?.description).toBe('Refund, up to 50.');
  });

  test('[A68] tools that are added to a set, removed from it or replaced change at the next turn', async () => {
    const tools = createToolset([refund]);
    const agent = defineAgent({ ...good, tools });
    const now = async () => (await agent.toolsFor(thread)).names();
    expect(await now()).toEqual(['refund']);
    tools.add(look);
    expect(await now()).toEqual(['refund', 'look']);
    expect(agent.toolbox.names()).toEqual(['refund', 'look']);
    tools.remove('refund');
    expect(await now()).toEqual(['look']);
    tools.set([refund]);
    expect(await now()).toEqual(['refund']);
  });

  test('the same tools share one toolbox', async () => {
    const tools = createToolset([refund]);
    const agent = defineAgent({ ...good, tools });
    const before = await agent.toolsFor(thread);
    expect(await agent.toolsFor(thread)).toBe(before);
    tools.add(look);
    const after = await agent.toolsFor(thread);
    expect(after).not.toBe(before);
    tools.add(look);
    expect(await agent.toolsFor(thread)).toBe(after);
    const made = defineAgent({ ...good, tools: () => [refund, look] });
    expect(await made.toolsFor(thread)).toBe(await made.toolsFor(thread));
  });

  test('a function that throws, or returns an invalid value, fails with the name of its agent', async () => {
    await expect(
      names(() => {
        throw new Error('registry down');
      }),
    ).rejects.toThrow('registry down');
    await expect(names((() => 'none') as never)).rejects.toThrow("defineAgent 'support': tools must be a list");
    await expect(names(() => [refund, { ...refund }])).rejects.toThrow(/'support': Two tools are named 'refund'/);
  });

  test('a function that never answers does not block others forever', async () => {
    jest.useFakeTimers();
    try {
      const refused = expect(names(() => new Promise(() => {}))).rejects.toThrow('no answer within 30 s');
      await jest.advanceTimersByTimeAsync(30_000);
      await refused;
    } finally {
      jest.useRealTimers();
    }
  });

  test('a tool choice is not checked if the tools may change', () => {
    const settings = { toolChoice: { tool: 'later' } };
    expect(() => defineAgent({ ...good, tools: createToolset(), settings })).not.toThrow();
    expect(() => defineAgent({ ...good, tools: () => [], settings })).not.toThrow();
  });

  test('[A62] tools without a timeout use the timeout of their agent', async () => {
    const slow = defineTool({ name: 'slow', description: 'Slow.', input: z.object({}), timeoutMs: 90_000, execute: () => 'ok' });
    const { toolbox } = defineAgent({ ...good, tools: [look, slow], toolTimeoutMs: 5_000 });
    expect(await toolbox.judge(callOf('look', {}))).toMatchObject({ timeoutMs: 5_000 });
    expect(await toolbox.judge(callOf('slow', {}))).toMatchObject({ timeoutMs: 90_000 });
  });

  test('done-tool adds one tool', async () => {
    const agent = defineAgent({ ...good, tools: [look], stop: 'done-tool' });
    expect(agent.toolbox.names()).toEqual(['look', 'done']);
    expect(await agent.toolbox.judge(callOf('done', { message: 'All fits.' }))).toEqual({ kind: 'done', message: 'All fits.' });
    expect(await agent.toolbox.judge(callOf('done', ''))).toEqual({ kind: 'done' });
    expect(await agent.toolbox.judge(callOf('done', { message: 7 }))).toMatchObject({ kind: 'reject' });
    expect(await defineAgent({ ...good, tools: [look] }).toolbox.judge(callOf('done', {}))).toMatchObject({ kind: 'reject' });
  });
});

describe('a structured answer', () => {
  const { answer } = defineAgent({ ...good, output: z.object({ city: z.string(), zips: z.array(z.string().length(5)) }) });

  test('is described to the model as JSON Schema', () => {
    expect(answer?.schema).toMatchObject({ type: 'object', required: ['city', 'zips'] });
  });

  test.each([
    ['fits', '{"city": "Bonn", "zips": ["53111"]}', []],
    ['is no JSON', 'Bonn', [expect.stringMatching(/^it is not valid JSON \(.*\): answer with one JSON object/)]],
    ['is fenced', '```json\n{}\n```', [expect.stringContaining('nothing before or after it')]],
    ['is a list', '[]', ['it must be one JSON object']],
    ['does not fit', '{"zips": ["53111", "1"]}', [expect.stringMatching(/^city: /), expect.stringMatching(/^zips\[1\]: /)]],
  ])('%s', async (_what, text, problems) => {
    expect(await answer?.problems(text)).toEqual(problems);
  });

  test('an exception in the check of an author is reported, not thrown', async () => {
    const odd = defineAgent({
      ...good,
      output: z.object({
        n: z.number().refine(() => {
          throw new Error('no rates');
        }),
      }),
    });
    expect(await odd.answer?.problems('{"n": 1}')).toEqual(['it could not be checked: no rates']);
  });
});

test('permissions read what people remembered for this agent only', async () => {
  const load = jest.fn(async () => [{ tool: 'refund' }]);
  const permissions = createPermissions({ mode: 'minimal', store: { load, add: async () => {} } });
  const { toolbox } = defineAgent({ ...good, tools: [refund], permissions });
  expect(await toolbox.judge(callOf('refund', {}))).toEqual({ kind: 'external' });
  expect(load).toHaveBeenCalledWith('support');
});

describe('createAgents', () => {
  const agents = createAgents([defineAgent(good), createCoder()]);

  test('finds by name', () => {
    expect(agents.names()).toEqual(['support', 'coder']);
    expect(agents.get('coder').name).toBe('coder');
  });

  test('an unknown name is an error that lists the known names, and the nearest', () => {
    const error = (() => {
      try {
        return agents.get('suport');
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toBeInstanceOf(AgentNotFoundError);
    expect(error).toMatchObject({ name: 'AgentNotFoundError', known: ['support', 'coder'], suggestion: 'support' });
    expect((error as Error).message).toBe("Unknown agent 'suport'. Did you mean 'support'? This worker has: support, coder.");
    expect(() => agents.get('billing')).toThrow("Unknown agent 'billing'. This worker has: support, coder.");
    expect(() => createAgents([]).get('__proto__')).toThrow('This worker has: none.');
  });

  test('refuses two agents with the same name, and values that are not agents', () => {
    expect(() => createAgents([defineAgent(good), defineAgent(good)])).toThrow(/Two agents are named 'support'/);
    expect(() => createAgents([{ ...good } as never])).toThrow(/agents\[0\] was not made by defineAgent/);
  });
});

describe('the coder', () => {
  test('has its tools, with effects that describe what a crash may do', () => {
    const { toolbox } = createCoder();
    expect(toolbox.names().map((name) => [name, toolbox.get(name)?.effect])).toEqual([
      ['shell', 'once'],
      ['shell_task', 'pure'],
      ['shell_input', 'once'],
      ['shell_cancel', 'keyed'],
      ['read_file', 'pure'],
      ['write_file', 'keyed'],
      ['edit', 'keyed'],
      ['apply_patch', 'keyed'],
      ['list_dir', 'pure'],
      ['glob', 'pure'],
      ['grep', 'pure'],
      ['view_image', 'pure'],
      ['web_fetch', 'pure'],
      ['update_plan', 'keyed'],
      ['search_skills', 'pure'],
      ['load_skill', 'pure'],
    ]);
  });

  test('completes a small job with them', async () => {
    const workspace = await newFolder();
    const { toolbox } = createCoder({ workspace });
    const use = async (name: string, args: object) => (await toolbox.execute(callOf(name, args), hostWith({ workspace }))).outcome.content;
    expect(await use('write_file', { path: 'src/sum.js', content: 'console.log(1 - 2);\n' })).toBe('Wrote 20 bytes to src/sum.js');
    expect(await use('shell', { command: 'node src/sum.js' })).toBe('-1');
    expect(await use('read_file', { path: 'src/sum.js' })).toMatch(/^L1: console\.log\(1 - 2\);\n\[hash: \w+\]$/);
    await use('edit', { path: 'src/sum.js', old_string: '1 - 2', new_string: '1 + 2' });
    expect(await use('shell', { command: 'node src/sum.js' })).toBe('3');
    expect(await use('list_dir', { path: 'src' })).toBe('sum.js');
  });

  test('shows the results of commands as JSON if configured', async () => {
    const workspace = await newFolder();
    const { toolbox } = createCoder({ workspace, shellOutput: 'json' });
    const { outcome } = await toolbox.execute(callOf('shell', { command: 'echo hello; exit 3' }), hostWith({ workspace }));
    expect(JSON.parse(String(outcome.content))).toMatchObject({ exit_code: 3 });
  });

  test('asks before a command if configured', async () => {
    const { toolbox } = createCoder({ shellApproval: ({ command }) => command.startsWith('git push') && 'it publishes' });
    expect(await toolbox.judge(callOf('shell', { command: 'git push' }))).toMatchObject({ approval: { reason: 'it publishes' } });
  });

  test('asks before everything that does more than read, unless its permissions allow it', async () => {
    const asksFor = async (options: CoderOptions, ...calls: ToolCall[]) => {
      const verdicts = await Promise.all(calls.map((call) => createCoder(options).toolbox.judge(call)));
      return verdicts.map((verdict) => 'approval' in verdict);
    };
    const reads = [callOf('shell', { command: 'ls' }), callOf('read_file', { path: 'a' })];
    const does = [callOf('shell', { command: 'npm test' }), callOf('write_file', { path: 'a', content: 'b' })];
    expect(await asksFor({}, ...reads, ...does)).toEqual([false, false, true, true]);
    expect(await asksFor({ permissions: createPermissions({ mode: 'trusted' }) }, ...does)).toEqual([true, false]);
    expect(await asksFor({ permissions: createPermissions({}) }, ...does)).toEqual([false, false]);
  });

  test('accepts another model', () => {
    expect(createCoder({ model: 'openai/gpt-5-mini' }).model).toBe('openai/gpt-5-mini');
  });
});
