import { PassThrough } from 'node:stream';
import { z } from 'zod';
import { main as bareClient } from '../examples/bare-client';
import { main as chat } from '../examples/chat';
import { main as refund, support } from '../examples/refund';
import { defineAgent } from '../src/agents';
import { defaultModels } from '../src/models/registry';
import { callTools, type ScriptRequest, say } from '../src/testing/model-server';
import { defineTool } from '../src/tools';
import { startRig } from './support/rig';
import { workflowBundlePath } from './support/temporal';

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
}, 60_000);

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
}, 60_000);

test('the chat goes on where it was, in another process', async () => {
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
}, 60_000);
