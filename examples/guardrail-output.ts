/**
 * A guardrail on the model's answers: addresses are removed before anything is recorded, and an answer with a secret ends the run.
 *
 * Run it with a Temporal server (`longhaul dev` starts one) and OPENAI_API_KEY, or OPENAI_BASE_URL of a compatible server:
 * `npx tsx examples/guardrail-output.ts "Whom do I write to?"`
 */
import { createWorker, defineAgent, defineHooks, LonghaulClient, type WorkerOptions, wordsOf } from 'longhaul';

const address = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g;
const secret = /\b(?:sk|ghp|xoxb)[-_][\w-]{16,}/;

export const outputGuard = defineHooks({
  'after:llm': {
    id: 'output-guard',
    // If the check itself fails, the run ends. By default unchecked answers would pass.
    failure: 'fail',
    run({ text }) {
      if (secret.test(text)) return { block: 'The answer had a key in it.' };
      const clean = text.replace(address, '[address removed]');
      return clean === text ? undefined : { text: clean };
    },
  },
});

export const discreet = defineAgent({
  name: 'discreet-support',
  model: 'openai/gpt-5',
  instructions: 'You help customers of a paint shop. Answer in one sentence.',
  hooks: outputGuard,
});

interface Setting {
  input?: string;
  print?: (line: string) => void;
  /** Options that the worker and the client share. Defaults come from the environment. */
  worker?: Partial<WorkerOptions>;
}

export async function main({ input = 'Whom do I write to?', print = console.log, worker: settings = {} }: Setting = {}): Promise<string> {
  const worker = await createWorker({ agents: [discreet], ...settings });
  const working = worker.run();
  const client = await LonghaulClient.connect({ taskQueue: worker.taskQueue });
  try {
    const thread = await client.start(discreet, input);
    // Deltas are streamed before any hook has checked them. Readers that must not see unchecked text read without them.
    for await (const event of thread.events({ live: false })) {
      if (event.type === 'thread.message.completed') print(wordsOf(event.data.message.content));
      if (event.type === 'thread.run.failed') print(`(failed: ${event.data.message})`);
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
