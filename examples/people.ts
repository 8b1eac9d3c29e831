/**
 * Decisions by people: a discount that two of the leads must approve before a deadline, after which the owners are asked instead, and a question that
 * anyone may answer. Nobody watches the thread: people find what waits for them in the inbox.
 *
 * Run it with a Temporal server (`longhaul dev` starts one) and OPENAI_API_KEY, or OPENAI_BASE_URL of a compatible server:
 * `npx tsx examples/people.ts "Give the painters' school 60 percent off, in a colour of their choice"`
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createAskHuman,
  createWorker,
  defineAgent,
  defineTool,
  type InboxItem,
  inProcessBus,
  LonghaulClient,
  type WorkerOptions,
} from 'longhaul';
import { z } from 'zod';

const grantDiscount = defineTool({
  name: 'grant_discount',
  description: 'Grant a customer a discount on one kind of paint.',
  input: z.object({ customer: z.string(), paint: z.string(), percent: z.number() }),
  // Granting a discount twice has the same effect as granting it once.
  effect: 'keyed',
  approval: {
    when: ({ percent }) => percent > 20 && `${percent} percent is more than the usual 20`,
    groups: ['leads'],
    approvers: 2,
    deadlineMs: 4_000, // Seconds for this example; use hours or days in production.
    onDeadline: [{ escalate: ['owners'] }, 'deny'],
  },
  execute: ({ customer, paint, percent }) => `${percent} percent off ${paint} paint for ${customer}`,
});

export const sales = defineAgent({
  name: 'sales',
  model: 'openai/gpt-5',
  instructions: 'You grant discounts in a paint shop. Ask which paint if it is not known. Say what you did in one sentence.',
  tools: [grantDiscount, createAskHuman({ deadlineMs: 60_000 })],
});

/** How each person handles the inbox. Lee, the other lead, is on holiday, so dana's approval is not enough until the owners are asked. */
async function answer(client: LonghaulClient, { threadId, agent, call }: InboxItem, print: (line: string) => void): Promise<void> {
  const thread = client.attach(threadId);
  if (call?.kind === 'question') {
    print(`${agent} asks: ${call.arguments}`);
    await thread.answer(call.toolCallId, 'blue', { by: 'dana' });
  }
  if (call?.kind !== 'approval') return;
  const { toolCallId, name, reason, groups = [], votes = [] } = call;
  const [by, group] = groups.includes('owners') ? ['kim', 'owners'] : ['dana', 'leads'];
  if (votes.includes(by as string)) return;
  print(`${name} waits for ${groups.join(', ')}: ${reason}`);
  await thread.approve(toolCallId, { by, groups: [group as string] });
  print(`${by} agrees`);
}

interface Setting {
  input?: string;
  print?: (line: string) => void;
  /** Options that the worker and the client share. Defaults come from the environment. */
  worker?: Partial<WorkerOptions>;
}

export async function main({
  input = "Give the painters' school 60 percent off, in a colour of their choice",
  print = console.log,
  worker: settings = {},
}: Setting = {}): Promise<string> {
  const bus = inProcessBus();
  const worker = await createWorker({ agents: [sales], bus, ...settings });
  const working = worker.run();
  const client = await LonghaulClient.connect({ bus, taskQueue: worker.taskQueue });
  try {
    const thread = await client.start(sales, input);
    const ended = new AbortController();
    const result = thread.result().finally(() => ended.abort());
    // Your own front end would do this: it needs no thread id, only the user.
    while (!ended.signal.aborted) {
      for (const item of await client.pending({ agent: 'sales' })) await answer(client, item, print);
      await Promise.race([result, sleep(250)]);
    }
    const { output } = await result;
    print(output);
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
