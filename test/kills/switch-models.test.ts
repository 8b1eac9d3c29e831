import { toolCallsOf } from '../../src/core/message';
import { compile } from '../support/compile';
import { inPackage } from '../support/in-package';
import { startRig, startWorkerProcess, until } from '../support/rig';
import { mark, said, startVendors, thought, type Vendor, type VendorRequest, vendors } from '../support/vendor-streams';
import { story } from '../workflows/scenes';

/** A way through all vendors on which each is followed by each other once. */
function everySwitch(): Vendor[] {
  const left = new Map(vendors.map((from) => [from, vendors.filter((to) => to !== from)]));
  const walk: Vendor[] = [vendors[0]];
  const way: Vendor[] = [];
  while (walk.length > 0) {
    const next = left.get(walk.at(-1) as Vendor)?.pop();
    if (next) walk.push(next);
    else way.unshift(walk.pop() as Vendor);
  }
  return way;
}

const order = everySwitch();
const vendorOf = (turn: number) => order[turn - 1] as Vendor;
const turnsUntil = (turn: number) => Array.from({ length: turn - 1 }, (_, i) => i + 1);

test('a thread that changes its vendor in every turn, with its worker killed in each, is complete and sends each vendor correct requests', async () => {
  const held = new Set<number>();
  const { url, requests } = await startVendors(order.length, ({ turn }) => !held.has(turn) && held.add(turn).has(turn));
  const rig = await startRig({ script: () => ({}) as never, agents: [], workers: 0 });
  const startWorker = () =>
    startWorkerProcess({
      address: rig.address,
      taskQueue: rig.taskQueue,
      agentsFile: inPackage('agents/switching.js'),
      modelUrl: `${url}/v1`,
      env: {
        SWITCHING_ORDER: order.join(),
        SWITCHING_URL: url,
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: 'test',
        GEMINI_API_KEY: 'test',
        GOOGLE_GEMINI_BASE_URL: url,
      },
    });
  let worker = await startWorker();
  const thread = await rig.client.start('switching', 'Begin.');
  for (let turn = 1; turn <= order.length; turn++) {
    await until(() => held.has(turn), Boolean, 60_000);
    await worker.kill();
    worker = await startWorker();
  }
  const told = await story(thread);
  expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { turns: order.length, output: said(order.length) } });

  const messages = await thread.messages();
  expect(
    messages.flatMap((m) =>
      m.role === 'assistant'
        ? [
            toolCallsOf(m.content)
              .map((call) => call.arguments)
              .join(),
          ]
        : [],
    ),
  ).toEqual([...turnsUntil(order.length).map((turn) => JSON.stringify({ turn })), '']);
  expect(messages.flatMap((m) => (m.role === 'tool' ? [m.content] : []))).toEqual(turnsUntil(order.length).map((turn) => `noted ${turn}`));
  expect(requests.map(({ vendor, turn }) => [vendor, turn])).toEqual(
    order.flatMap((vendor, i) => [
      [vendor, i + 1],
      [vendor, i + 1],
    ]),
  );
  for (const request of requests) expectWhole(request);
  expect(compile(new Map(requests.map((request, i) => [`request-${i}.ts`, typed(request)])))).toBe('');
}, 600_000);

/** The whole conversation so far, each call with its result, and of what only one vendor may read just its own. */
function expectWhole({ vendor, turn, body }: VendorRequest): void {
  const text = JSON.stringify(body);
  const at = `${vendor} in turn ${turn}`;
  for (const before of turnsUntil(turn)) {
    const own = vendorOf(before) === vendor;
    expect({ at, before, said: text.includes(said(before)), result: text.includes(`noted ${before}`) }).toEqual({
      at,
      before,
      said: true,
      result: true,
    });
    expect({ at, before, mark: text.includes(mark(vendorOf(before), before)) }).toEqual({ at, before, mark: own });
    // A summary goes back with what it sums up, and to no other vendor.
    if (!own) expect({ at, before, thought: text.includes(thought(before)) }).toEqual({ at, before, thought: false });
  }
  const { calls, results } = pairsOf[vendor](body);
  expect({ at, calls, results }).toEqual({ at, calls: results, results });
  expect(calls).toHaveLength(turn - 1);
}

const chatPairs = ({ messages }: any) => ({
  calls: messages.flatMap((m: any) => m.tool_calls ?? []).map((call: any) => call.id),
  results: messages.filter((m: any) => m.role === 'tool').map((m: any) => m.tool_call_id),
});

/** The ids of the calls in a request, and those of the results directly behind them. */
const pairsOf: Record<Vendor, (body: any) => { calls: unknown[]; results: unknown[] }> = {
  openai: chatPairs,
  compat: chatPairs,
  'openai-responses': ({ input }) => ({
    calls: input.filter((item: any) => item.type === 'function_call').map((item: any) => item.call_id),
    results: input.filter((item: any) => item.type === 'function_call_output').map((item: any) => item.call_id),
  }),
  anthropic: ({ messages }) => ({
    calls: messages.flatMap((m: any) => m.content).flatMap((block: any) => (block.type === 'tool_use' ? [block.id] : [])),
    results: messages.flatMap((m: any) => m.content).flatMap((block: any) => (block.type === 'tool_result' ? [block.tool_use_id] : [])),
  }),
  google: ({ contents }) => ({
    calls: contents
      .flatMap((c: any) => c.parts)
      .flatMap((part: any) => (part.functionCall ? [part.functionCall.id ?? part.functionCall.name] : [])),
    results: contents
      .flatMap((c: any) => c.parts)
      .flatMap((part: any) => (part.functionResponse ? [part.functionResponse.id ?? part.functionResponse.name] : [])),
  }),
};

const chatTypes = `import type { ChatCompletionCreateParamsStreaming as Body } from 'openai/resources/chat/completions';`;

/** What the vendor's SDK takes for a request. Of Gemini it makes the body itself, of parts that are typed. */
const types: Record<Vendor, string> = {
  openai: chatTypes,
  compat: chatTypes,
  'openai-responses': `import type { ResponseCreateParamsStreaming as Body } from 'openai/resources/responses/responses';`,
  anthropic: `import type { MessageCreateParamsStreaming as Body } from '@anthropic-ai/sdk/resources/messages';`,
  google: `import type { Content, GenerateContentConfig, Part } from '@google/genai';
interface Body extends Pick<GenerateContentConfig, 'tools' | 'toolConfig'> {
  contents: Content[];
  systemInstruction?: { parts: Part[] };
  generationConfig?: Pick<GenerateContentConfig, 'thinkingConfig'>;
}`,
};

/** A module that compiles where the request is one that the vendor's SDK would take. */
function typed({ vendor, body }: VendorRequest): string {
  // Servers of open models read it, and OpenAI's types don't have it. The SDK has enums in the place of these texts.
  const json = JSON.stringify(body, (key, value) =>
    key === 'reasoning_content' || (vendor === 'google' && key === 'thinkingLevel') ? undefined : value,
  );
  return `${types[vendor]}\nexport const body: Body = ${json};\n`;
}
