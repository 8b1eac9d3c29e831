/**
 * A refund that needs an approval above 50 dollars. Worker and client run in one process here, but they don't have to.
 *
 * Run it with a Temporal server (`longhaul dev` starts one) and OPENAI_API_KEY, or OPENAI_BASE_URL of a compatible server:
 * `npx tsx examples/refund.ts "Please refund order 812"`
 */
import { createWorker, defineAgent, defineTool, inProcessBus, LonghaulClient, type WorkerOptions, wordsOf } from 'longhaul';
import { z } from 'zod';

/** Simulates a payment provider's library. As with a real one, an idempotency key makes a repeated request harmless. */
const payments = {
  done: new Map<string, string>(),
  async refund(orderId: string, cents: number, { idempotencyKey }: { idempotencyKey: string; signal: AbortSignal }): Promise<string> {
    const receipt = payments.done.get(idempotencyKey) ?? `refund ${payments.done.size + 1}: ${cents} cents for order ${orderId}`;
    payments.done.set(idempotencyKey, receipt);
    return receipt;
  },
};

const refund = defineTool({
  name: 'refund_order',
  description: 'Refund an order. Ask for the amount if it is not known.',
  input: z.object({ orderId: z.string(), cents: z.number().int().positive() }),
  // If a worker dies during the call, the call is safe to repeat, because the key is the same for every attempt.
  effect: 'keyed',
  approval: ({ cents }) => cents > 5_000 && `${cents / 100} dollars are above the limit of 50`,
  async execute({ orderId, cents }, ctx) {
    return payments.refund(orderId, cents, { idempotencyKey: ctx.idempotencyKey, signal: ctx.signal });
  },
});

export const support = defineAgent({
  name: 'support',
  model: 'openai/gpt-5',
  instructions: 'You help customers of a paint shop. Refund what they ask for, and say what you did in one sentence.',
  tools: [refund],
  limits: { turns: 40 },
});

interface Setting {
  input?: string;
  print?: (line: string) => void;
  /** Options that the worker and the client share. Defaults come from the environment. */
  worker?: Partial<WorkerOptions>;
}

export async function main({
  input = 'Please refund order 812, it was 120 dollars',
  print = console.log,
  worker: settings = {},
}: Setting = {}) {
  const bus = inProcessBus();
  const worker = await createWorker({ agents: [support], bus, ...settings });
  const working = worker.run();
  const client = await LonghaulClient.connect({ bus, taskQueue: worker.taskQueue });
  try {
    const thread = await client.start(support, input);
    for await (const event of thread.events()) {
      const words = event.type === 'thread.message.completed' ? wordsOf(event.data.message.content) : '';
      if (words) print(words);
      if (event.type !== 'thread.run.requires_action') continue;
      // The run waits here as long as necessary: minutes, weeks, across a change of machines.
      for (const { toolCallId, name, arguments: args, reason } of event.data.pending) {
        print(`${name} ${args} waits for an approval: ${reason}`);
        await thread.approve(toolCallId, { by: 'dana' });
      }
    }
    const { output, usage } = await thread.result();
    print(`${usage.inputTokens} tokens in, ${usage.outputTokens} out`);
    return output;
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
