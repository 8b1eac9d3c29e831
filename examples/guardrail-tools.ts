/**
 * Guardrails on tools: one rejects forbidden calls, asks a person about unusual ones, and lets the others run; another keeps a call's arguments within
 * bounds.
 *
 * Run it with a Temporal server (`longhaul dev` starts one) and OPENAI_API_KEY, or OPENAI_BASE_URL of a compatible server:
 * `npx tsx examples/guardrail-tools.ts "Give everyone 40 percent off blue paint"`
 */
import { createWorker, defineAgent, defineHooks, defineTool, inProcessBus, LonghaulClient, type WorkerOptions } from 'longhaul';
import { z } from 'zod';

const setDiscount = defineTool({
  name: 'set_discount',
  description: 'Set the discount on a kind of paint.',
  input: z.object({ paint: z.string(), percent: z.number(), days: z.number().int().optional() }),
  // Setting a discount twice has the same effect as setting it once.
  effect: 'keyed',
  execute: ({ paint, percent, days }) => `${percent} percent off ${paint} paint for ${days} days`,
});

const longestDays = 14;

/** The arguments as the model wrote them. They are not yet checked against the tool's schema, so they may be anything. */
function read(args: string): { percent?: unknown; days?: unknown; [key: string]: unknown } {
  return JSON.parse(args);
}

export const toolGuard = defineHooks({
  // Fails closed: if this hook throws or hangs, the call is rejected.
  'approve:tool': {
    id: 'discount-guard',
    timeoutMs: 5_000,
    run({ call }) {
      if (call.name !== 'set_discount') return undefined;
      const percent = Number(read(call.arguments).percent);
      if (!(percent <= 50)) return { approved: false, reason: 'no discount is above 50 percent' };
      if (percent > 20) return { ask: { reason: `${percent} percent is more than usual`, users: ['kim'] } };
      return { approved: true };
    },
  },
  'before:tool': {
    id: 'discount-days',
    failure: 'fail',
    run({ call }) {
      if (call.name !== 'set_discount') return undefined;
      const args = read(call.arguments);
      return typeof args.days === 'number' && args.days <= longestDays ? undefined : { args: { ...args, days: longestDays } };
    },
  },
});

export const pricing = defineAgent({
  name: 'pricing',
  model: 'openai/gpt-5',
  instructions: 'You set the discounts of a paint shop. Say what you did in one sentence.',
  tools: [setDiscount],
  hooks: toolGuard,
});

interface Setting {
  input?: string;
  print?: (line: string) => void;
  /** Options that the worker and the client share. Defaults come from the environment. */
  worker?: Partial<WorkerOptions>;
}

export async function main({
  input = 'Give everyone 40 percent off blue paint',
  print = console.log,
  worker: settings = {},
}: Setting = {}): Promise<string> {
  const bus = inProcessBus();
  const worker = await createWorker({ agents: [pricing], bus, ...settings });
  const working = worker.run();
  const client = await LonghaulClient.connect({ bus, taskQueue: worker.taskQueue });
  try {
    const thread = await client.start(pricing, input);
    for await (const event of thread.events()) {
      if (event.type === 'agent.tool.execution.completed') print(`${event.data.name}: ${event.data.output}`);
      if (event.type !== 'thread.run.requires_action') continue;
      for (const { toolCallId, name, arguments: args, reason } of event.data.pending) {
        print(`${name} ${args} waits for an approval: ${reason}`);
        await thread.approve(toolCallId, { by: 'kim' });
      }
    }
    return (await thread.result()).output;
  } finally {
    await client.close();
    worker.shutdown();
    await working;
  }
}

if (require.main === module) {
  main({ ...(process.argv[2] && { input: process.argv[2] }) }).catch((error) => {
    console.error(error);
    process.exitCode = 1;
  });
}
