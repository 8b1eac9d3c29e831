/**
 * A guardrail on user messages: card numbers and forbidden topics never reach the model.
 *
 * Run it with a Temporal server (`longhaul dev` starts one) and OPENAI_API_KEY, or OPENAI_BASE_URL of a compatible server:
 * `npx tsx examples/guardrail-input.ts "My card is 4111 1111 1111 1111, why was it charged?"`
 */
import {
  createWorker,
  defineAgent,
  defineHooks,
  inProcessBus,
  LonghaulClient,
  LonghaulError,
  type Message,
  type WorkerOptions,
} from 'longhaul';

/** Whether a text has 13 to 19 digits, in groups or not, with the checksum of a card number. */
function hasCardNumber(text: string): boolean {
  return [...text.matchAll(/\d(?:[ -]?\d){12,18}/g)].some(([found]) => {
    const digits = [...found.replace(/\D/g, '')].reverse().map(Number);
    return digits.reduce((sum, digit, at) => sum + (at % 2 === 0 ? digit : digit > 4 ? 2 * digit - 9 : 2 * digit), 0) % 10 === 0;
  });
}

/** Why these messages are blocked, or undefined. */
function objection(messages: readonly Message[]): string | undefined {
  for (const { role, content } of messages) {
    if (role !== 'user') continue;
    const text = typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
    if (hasCardNumber(text)) return 'Please write again without the card number: we never need it.';
    if (/\b(lawsuit|attorney|sue you)\b/i.test(text)) return 'Legal matters are for legal@paint.example, not for this chat.';
  }
  return undefined;
}

// `fail`: if the check itself fails, the run ends. By default unchecked messages would pass.
const failure = 'fail';

export const inputGuard = defineHooks({
  'before:execution': {
    id: 'input-guard',
    failure,
    run({ messages }) {
      const block = objection(messages);
      return block ? { block } : undefined;
    },
  },
  // A message that is sent during a run joins it at its next turn, and a blocked message remains in the transcript of a conversation.
  'before:llm': {
    id: 'transcript-guard',
    failure,
    async run(_, ctx) {
      const block = objection(await ctx.messages());
      return block ? { block } : undefined;
    },
  },
});

export const guarded = defineAgent({
  name: 'guarded-support',
  model: 'openai/gpt-5',
  instructions: 'You help customers of a paint shop. Answer in one sentence.',
  hooks: inputGuard,
});

interface Setting {
  input?: string;
  print?: (line: string) => void;
  /** Options that the worker and the client share. Defaults come from the environment. */
  worker?: Partial<WorkerOptions>;
}

/** Returns the answer, or the text that replaced it. */
export async function main({
  input = 'My card is 4111 1111 1111 1111, why was it charged?',
  print = console.log,
  worker: settings = {},
}: Setting = {}): Promise<string> {
  const bus = inProcessBus();
  const worker = await createWorker({ agents: [guarded], bus, ...settings });
  const working = worker.run();
  const client = await LonghaulClient.connect({ bus, taskQueue: worker.taskQueue });
  try {
    const thread = await client.start(guarded, input);
    const { output } = await thread.result();
    print(output);
    return output;
  } catch (error) {
    if (!(error instanceof LonghaulError) || error.runCode !== 'blocked_by_hook') throw error;
    print(error.message);
    return error.message;
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
