import { z } from 'zod';
import { type Agent, type AgentDefinition, defineAgent } from '../src/agents';
import { defineHooks, type HookContext, type HookDefinitions, type Hooks } from '../src/hooks';
import { stormTools } from './agent-tools';
import { mayDieAt } from './kill-points';
import { random } from './random';
import { tools as facts, maxMessages, smallWindow } from './tool-facts';

/** Every agent that a plan names. Version 2 has other instructions, other schemas and one more hook, as after a deploy. */
export function stormAgents(folder: string, version: 1 | 2): Agent[] {
  const common = {
    model: 'storm-model',
    instructions: ({ threadId }: { threadId: string }) => {
      mayDieAt(folder, 'instructions');
      return `Version ${version}. thread=${threadId}`;
    },
    tools: stormTools(folder, version),
    retry: { baseMs: 50, maxMs: 500, maxAttempts: 6 },
    limits: { turns: 40 },
    toolTimeoutMs: 20_000,
  } satisfies Partial<AgentDefinition>;
  const agent = (name: string, more: Partial<AgentDefinition> = {}) => defineAgent({ ...common, ...more, name });
  return [
    agent('plain'),
    agent('sequential', { strategy: 'sequential' }),
    agent('parallel', { strategy: 'parallel' }),
    agent('hooked', { hooks: stormHooks(folder, version) }),
    agent('structured', { output: z.object({ answer: z.string(), of: z.number() }) }),
    agent('verifying', { stop: 'verify' }),
    agent('done', { stop: 'done-tool' }),
    agent('begging', { atLimit: 'ask', limits: { turns: 3, toolRounds: 2 } }),
    agent('handing', { atLimit: 'hand-out', limits: { turns: 20, toolRounds: 2 } }),
    agent('summarizing', { atLimit: 'summarize', limits: { turns: 3 } }),
    agent('pruning', { context: { ...smallWindow, pruneProtectTokens: 800, pruneMinimumTokens: 800, keepTurns: 2, summaryTokens: 300 } }),
    agent('condensing', { context: { ...smallWindow, pruneMinimumTokens: 1_000_000, keepTurns: 2, summaryTokens: 300 } }),
    agent('sliding', { context: { ...smallWindow, maxMessages, keepMessages: 6 } }),
    agent('failing', { atLimit: 'fail', toolFailure: 'fail', limits: { toolCalls: 6 } }),
  ];
}

/** Hooks of every name; most of the time each does nothing, and now and then it intervenes. */
function stormHooks(folder: string, version: 1 | 2): Hooks {
  type Step = (ctx: HookContext, input: never) => unknown;
  const steps: Record<string, Step> = {
    'before:execution': () => ({ messages: ['A hook says: mind the step.'] }),
    'pause:check': () => ({ pause: true, reason: 'a hook' }),
    'before:llm': () => ({ instructions: 'Be quick.' }),
    'after:llm': () => ({}),
    'before:tool': (_, { call }: { call: { name: string; arguments: string } }) => skipped(call),
    'after:tool': (_, { call }: { call: { name: string } }) =>
      facts[call.name]?.effect === 'once' ? { content: 'changed by a hook' } : { retry: true },
    'approve:tool': (ctx) => ({ approved: ctx.turn % 2 === 0, reason: 'a hook' }),
    'check:completion': () => ({ prompt: 'A hook asks: is that all?' }),
    'after:execution': () => undefined,
    ...(version === 2 && { 'on:event': () => undefined }),
  };
  const rare: Record<string, number> = { 'pause:check': 0.05, 'approve:tool': 0.1 };
  const definitions = Object.entries(steps).map(([name, step]) => [
    name,
    (input: unknown, ctx: HookContext) => {
      mayDieAt(folder, 'hook');
      const rng = random(ctx.threadId, ctx.runId, ctx.turn, name, JSON.stringify(input).length);
      if (rng.chance(0.03)) throw new Error('a hook that fails');
      return rng.chance(rare[name] ?? 0.25) ? step(ctx, input as never) : undefined;
    },
  ]);
  return defineHooks(Object.fromEntries(definitions) as HookDefinitions);
}

function skipped(call: { name: string }): object {
  return ['pay', 'look'].includes(call.name) ? { skip: true, mockResult: 'skipped by a hook' } : {};
}
