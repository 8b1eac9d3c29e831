/**
 * A refund that needs a person above 50 dollars. Worker and client are in one process here; they need not be.
 *
 * Run it with a Temporal server (`longhaul dev` starts one) and OPENAI_API_KEY, or OPENAI_BASE_URL of a compatible server:
 * `npx tsx examples/refund.ts "Please refund order 812"`
 */
import { createWorker, defineAgent, defineTool, inProcessBus, LonghaulClient, type WorkerOptions } from 'longhaul';
import { z } from 'zod';

/** Stands in for a payment provider's library. Its own key makes a repeated request harmless, as a real one's would. */
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
  // A worker that dies in the middle is no reason not to try again: the key is the same for every attempt.
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
  /** Where worker and client meet; what is unset comes from the environment. */
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
      if (event.type === 'thread.message.completed' && event.data.message.content) print(event.data.message.content);
      if (event.type !== 'thread.run.requires_action') continue;
      // Here the run rests, for as long as it takes: minutes, weeks, a change of machines.
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
