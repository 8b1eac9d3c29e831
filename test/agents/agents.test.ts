import { z } from 'zod';
import { createCoder } from '../../src/agents/coder';
import { defineAgent, factsOf } from '../../src/agents/define-agent';
import { AgentNotFoundError, createAgents } from '../../src/agents/registry';
import { defineTool } from '../../src/tools/define-tool';
import { callOf, hostWith, newFolder, removeFolders } from '../tools/tool-host';

afterEach(removeFolders);

const good = { name: 'support', model: 'openai/gpt-5', instructions: 'Help.' };
const refund = defineTool({ name: 'refund', description: 'Refund.', input: z.object({}) });

describe('defineAgent', () => {
  test('an agent without tools is a plain chat', () => {
    const agent = defineAgent(good);
    expect(agent.toolbox.specs()).toEqual([]);
    expect(agent).toMatchObject({ strategy: 'by-effect', settings: {}, limits: {}, retry: { maxAttempts: 5 } });
    expect(factsOf(agent)).toEqual({ name: 'support', model: 'openai/gpt-5', limits: {}, strategy: 'by-effect' });
  });

  test('what it was made of may change afterwards without changing it', () => {
    const limits = { turns: 3 };
    const tools = [refund];
    const agent = defineAgent({ ...good, limits, tools });
    limits.turns = 9;
    tools.pop();
    expect(agent.limits).toEqual({ turns: 3 });
    expect(agent.toolbox.names()).toEqual(['refund']);
    expect(() => Object.assign(agent.limits, { turns: 4 })).toThrow(TypeError);
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
    ['an empty workspace', { workspace: '' }, /workspace: give the path/],
    ['a tool defineTool did not make', { tools: [{ name: 'x' }] }, /tools\[0\] was not made by defineTool/],
    ['tools that are no list', { tools: { refund } }, /tools must be a list/],
    ['two tools of one name', { tools: [refund, { ...refund }] }, /defineAgent 'support': Two tools are named 'refund'/],
  ])('refuses %s', (_what, wrong, message) => {
    expect(() => defineAgent({ ...good, ...wrong } as never)).toThrow(message);
  });

  test('all problems are told at once', () => {
    expect(() => defineAgent({ ...good, model: '', limits: { turns: 0.5 }, settings: { maxTokens: 0 } })).toThrow(
      /model:[\s\S]*maxTokens[\s\S]*limits\.turns/,
    );
  });
});

describe('createAgents', () => {
  const agents = createAgents([defineAgent(good), createCoder()]);

  test('finds by name', () => {
    expect(agents.names()).toEqual(['support', 'coder']);
    expect(agents.get('coder').name).toBe('coder');
  });

  test('an unknown name is an error that names those there are, and the nearest', () => {
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

  test('refuses two agents of one name, and what is no agent', () => {
    expect(() => createAgents([defineAgent(good), defineAgent(good)])).toThrow(/Two agents are named 'support'/);
    expect(() => createAgents([{ ...good } as never])).toThrow(/agents\[0\] was not made by defineAgent/);
  });
});

describe('the coder', () => {
  test('has the four tools, with effects that say what a crash may do', () => {
    const { toolbox } = createCoder();
    expect(toolbox.names().map((name) => [name, toolbox.get(name)?.effect])).toEqual([
      ['shell', 'once'],
      ['read_file', 'pure'],
      ['write_file', 'keyed'],
      ['list_dir', 'pure'],
    ]);
  });

  test('does a small job with them', async () => {
    const workspace = await newFolder();
    const { toolbox } = createCoder({ workspace });
    const use = async (name: string, args: object) => (await toolbox.execute(callOf(name, args), hostWith({ workspace }))).outcome.content;
    expect(await use('write_file', { path: 'src/sum.js', content: 'console.log(1 - 2);\n' })).toBe('Wrote 20 bytes to src/sum.js');
    expect(await use('shell', { command: 'node src/sum.js' })).toBe('-1');
    expect(await use('read_file', { path: 'src/sum.js' })).toBe('L1: console.log(1 - 2);');
    await use('write_file', { path: 'src/sum.js', content: 'console.log(1 + 2);\n' });
    expect(await use('shell', { command: 'node src/sum.js' })).toBe('3');
    expect(await use('list_dir', {})).toBe('src/\nsrc/sum.js');
  });

  test('asks before a command where it is told to', async () => {
    const { toolbox } = createCoder({ shellApproval: ({ command }) => command.startsWith('git push') && 'it publishes' });
    expect(await toolbox.judge(callOf('shell', { command: 'git push' }))).toMatchObject({ approval: { reason: 'it publishes' } });
  });

  test('takes another model', () => {
    expect(createCoder({ model: 'openai/gpt-5-mini' }).model).toBe('openai/gpt-5-mini');
  });
});
