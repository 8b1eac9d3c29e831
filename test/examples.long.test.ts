import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { promisify } from 'node:util';
import { z } from 'zod';
import { main as bareClient } from '../examples/bare-client';
import { main as chat } from '../examples/chat';
import { guarded, main as guardInput } from '../examples/guardrail-input';
import { discreet, main as guardOutput } from '../examples/guardrail-output';
import { main as guardTools, pricing } from '../examples/guardrail-tools';
import { main as people, sales } from '../examples/people';
import { main as refund, support } from '../examples/refund';
import { type Agent, defineAgent } from '../src/agents';
import { defaultModels } from '../src/models/registry';
import { callTools, type Reply, type ScriptRequest, say, startModelServer } from '../src/testing/model-server';
import { defineTool } from '../src/tools';
import { startRig } from './support/rig';
import { sharedServer, workflowBundlePath } from './support/temporal';

const before = { ...process.env };
afterEach(() => {
  process.env = { ...before };
});

/** A worker for the examples, which find the server where the environment points. */
async function rigFor(...args: Parameters<typeof startRig>) {
  const rig = await startRig(...args);
  process.env.TEMPORAL_ADDRESS = rig.address;
  return rig;
}

const folder = join(__dirname, '../examples');
const sourceOf = (file: string) => readFileSync(join(folder, file), 'utf8');

test('every example with a command in its header is a program', () => {
  const files = readdirSync(folder).filter((file) => sourceOf(file).includes(`npx tsx examples/${file}`));
  expect(files.length).toBeGreaterThan(5);
  for (const file of files) expect(sourceOf(file)).toMatch(/^if \(require\.main === module\)/m);
});

test('an example runs as its header says', async () => {
  const [, argument = ''] = /`npx tsx examples\/people.ts "(.*)"`/.exec(sourceOf('people.ts')) ?? [];
  const model = await startModelServer(({ input }) => say(`I did: ${input}`));
  const env = {
    ...before,
    TEMPORAL_ADDRESS: sharedServer().address,
    LONGHAUL_TASK_QUEUE: `example-${randomUUID()}`,
    OPENAI_BASE_URL: model.url,
    OPENAI_API_KEY: 'test',
  };
  const { stdout } = await promisify(execFile)('npx', ['tsx', join(folder, 'people.ts'), argument], { env, timeout: 90_000 });
  expect(argument).not.toBe('');
  expect(stdout).toBe(`I did: ${argument}\n`);
  await model.stop();
});

test('the bare client starts a thread, answers a tool call, reads every event and cancels', async () => {
  const ask = defineTool({ name: 'ask_customer', description: 'Asks the customer.', input: z.object({ question: z.string() }) });
  const assistant = defineAgent({ name: 'assistant', model: 'test-model', instructions: 'Ask first.', tools: [ask] });
  const script = ({ turn, messages }: ScriptRequest) =>
    turn === 0 ? callTools([{ name: 'ask_customer', args: { question: 'Which colour?' } }]) : say(`Ordered: ${messages.at(-1)?.content}`);
  const rig = await rigFor({ script, agents: [assistant] });
  const printed: string[] = [];
  expect(await bareClient({ taskQueue: rig.taskQueue, print: (line) => printed.push(line) })).toBe('Ordered: {"colour":"ultramarine"}');
  expect(printed[0]).toBe('1 agent.run.created');
  expect(printed.filter((line) => /^\d+ /.test(line)).map((line) => Number(line.split(' ')[0]))).toEqual(
    printed.filter((line) => /^\d+ /.test(line)).map((_, i) => i + 1),
  );
  expect(printed).toContainEqual(expect.stringMatching(/thread\.run\.requires_action$/));
  expect(printed.at(-1)).toMatch(/^cancelled: /);
});

test('the refund waits for its approval and is paid once', async () => {
  const script = ({ turn, messages }: ScriptRequest) =>
    turn === 0 ? callTools([{ name: 'refund_order', args: { orderId: '812', cents: 12_000 } }]) : say(`Done: ${messages.at(-1)?.content}`);
  const rig = await rigFor({ script, agents: [support], workers: 0 });
  const printed: string[] = [];
  const output = await refund({
    print: (line) => printed.push(line),
    worker: {
      taskQueue: rig.taskQueue,
      models: defaultModels({ openai: { baseUrl: rig.model.url } }),
      workflowBundle: { codePath: workflowBundlePath() },
      drainMs: 200,
    },
  });
  expect(output).toBe('Done: refund 1: 12000 cents for order 812');
  expect(printed[0]).toMatch(/^refund_order .*waits for an approval: 120 dollars are above the limit of 50$/);
});

test('people find their pending calls in the inbox: a question, and a discount that the owners are asked about because there are too few leads', async () => {
  const discount = (paint: unknown) => callTools([{ name: 'grant_discount', args: { customer: 'the school', paint, percent: 60 } }]);
  const script = ({ turn, messages }: ScriptRequest) => {
    const said = messages.at(-1)?.content;
    if (turn === 0) return callTools([{ name: 'ask_human', args: { question: 'Which colour?' } }]);
    return turn === 1 ? discount(said) : say(`Done: ${said}`);
  };
  const rig = await rigFor({ script, agents: [sales], workers: 0 });
  const printed: string[] = [];
  const output = await people({
    print: (line) => printed.push(line),
    worker: {
      taskQueue: rig.taskQueue,
      models: defaultModels({ openai: { baseUrl: rig.model.url } }),
      workflowBundle: { codePath: workflowBundlePath() },
      drainMs: 200,
    },
  });
  expect(output).toBe('Done: 60 percent off blue paint for the school');
  expect(printed).toEqual([
    'sales asks: {"question":"Which colour?"}',
    'grant_discount waits for leads: 60 percent is more than the usual 20',
    'dana agrees',
    'grant_discount waits for owners: 60 percent is more than the usual 20',
    'kim agrees',
    'Done: 60 percent off blue paint for the school',
  ]);
});

test('the chat continues in another process', async () => {
  const echo = defineAgent({ name: 'echo', model: 'test-model', instructions: 'Repeat.' });
  const rig = await rigFor({ script: ({ messages }) => say(`${messages.length - 1}: ${messages.at(-1)?.content}`), agents: [echo] });
  const talk = async (...lines: string[]) => {
    const [from, to] = [new PassThrough(), new PassThrough()];
    from.end(lines.map((line) => `${line}\n`).join(''));
    await chat({ id: `chat-${rig.taskQueue}`, agent: 'echo', client: rig.client, from, to });
    return String(to.read() ?? '');
  };
  expect(await talk('hello', '', 'and then?')).toBe('1: hello\n3: and then?\n');
  expect(await talk('still there?')).toBe('5: still there?\n');
  await rig.client.attach(`chat-${rig.taskQueue}`).close();
});

describe('a guardrail', () => {
  /** A model server, and where the example's own worker finds it. */
  async function settingFor(agent: Agent, script: (request: ScriptRequest) => Reply) {
    const rig = await rigFor({ script, agents: [agent], workers: 0 });
    const printed: string[] = [];
    const worker = {
      taskQueue: rig.taskQueue,
      models: defaultModels({ openai: { baseUrl: rig.model.url } }),
      workflowBundle: { codePath: workflowBundlePath() },
      drainMs: 200,
    };
    return { rig, printed, setting: { print: (line: string) => void printed.push(line), worker } };
  }

  test('on input keeps card numbers from the model, and answers everything else', async () => {
    const { rig, printed, setting } = await settingFor(guarded, () => say('Yes, in five shades.'));
    expect(await guardInput(setting)).toBe('Please write again without the card number: we never need it.');
    expect(rig.model.requests).toHaveLength(0);
    expect(await guardInput({ ...setting, input: 'Is blue in stock?' })).toBe('Yes, in five shades.');
    expect(printed).toEqual(['Please write again without the card number: we never need it.', 'Yes, in five shades.']);
  }, 60_000);

  test('on output removes addresses before anything is recorded, and ends a run that would reveal a key', async () => {
    const { printed, setting } = await settingFor(discreet, ({ input }) =>
      say(input === 'The key?' ? 'It is sk-abcdefghijklmnopqrstuvwx.' : 'Write to dana@paint.example, please.'),
    );
    expect(await guardOutput(setting)).toBe('Write to [address removed], please.');
    await expect(guardOutput({ ...setting, input: 'The key?' })).rejects.toMatchObject({ runCode: 'blocked_by_hook' });
    expect(printed).toEqual(['Write to [address removed], please.', '(failed: The answer had a key in it.)']);
  }, 60_000);

  test('on tools refuses forbidden calls, requests approval of unusual ones, and limits the rest', async () => {
    const discount = (percent: number, days?: number) => ({
      name: 'set_discount',
      args: { paint: 'blue', percent, ...(days && { days }) },
    });
    const { printed, setting } = await settingFor(pricing, ({ turn, messages }) =>
      turn === 0 ? callTools([discount(10, 400), discount(40), discount(90)]) : say(String(messages.at(-1)?.content)),
    );
    expect(await guardTools(setting)).toMatch(/Permission denied: no discount is above 50 percent/);
    expect(printed).toEqual([
      expect.stringMatching(/^set_discount: Error: Permission denied: no discount is above 50 percent/),
      expect.stringMatching(/^set_discount: \[A hook edited.*\n10 percent off blue paint for 14 days$/s),
      expect.stringMatching(/^set_discount \{.*"percent":40.*waits for an approval: 40 percent is more than usual$/),
      expect.stringMatching(/^set_discount: \[A hook edited.*\n40 percent off blue paint for 14 days$/s),
    ]);
  }, 60_000);
});
