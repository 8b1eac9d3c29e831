import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import type { ModelAnswer, ModelDelta, ModelFailure } from '../../src/models/model';
import { openAi } from '../../src/models/openai/client';
import { safeWords } from '../../src/models/wire/safe-words';
import { timeSlices } from '../../src/models/wire/time-slices';

let server: Server | undefined;
afterEach(() => server?.close().closeAllConnections());

interface Call {
  end: ModelAnswer | ModelFailure;
  /** Bytes that the server could get rid of. */
  sent: number;
  /** The client hung up before everything was sent. */
  isCut: boolean;
}

/** What a call to a server with this one answer comes to. */
async function call(
  body: Iterable<string>,
  { status = 200, onDelta }: { status?: number; onDelta?: (delta: ModelDelta) => void } = {},
): Promise<Call> {
  let sent = 0;
  let closed: (isCut: boolean) => void;
  const isCut = new Promise<boolean>((resolve) => {
    closed = resolve;
  });
  function* counted(): Generator<string> {
    for (const piece of body) {
      sent += piece.length;
      yield piece;
    }
  }
  server = createServer((request, response) => {
    request.resume().once('end', () => {
      response.writeHead(status, { 'content-type': 'text/event-stream' });
      response.once('close', () => closed(!response.writableFinished));
      Readable.from(counted()).pipe(response);
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const request = { model: 'm', instructions: '', messages: [], tools: [], settings: {} };
  const end = await openAi({ baseUrl: `http://127.0.0.1:${port}` })
    .call(request, { signal: new AbortController().signal, onDelta })
    .catch((failure: ModelFailure) => failure);
  return { end, isCut: await isCut, sent };
}

function* forever(piece: string, first = ''): Generator<string> {
  yield first;
  for (;;) yield piece;
}

const event = (delta: object) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`;
const toolCall = (more: object) => event({ tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '' }, ...more }] });
const finish = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
const kilobyte = 'x'.repeat(1_000);
const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

function* manyCalls(): Generator<string> {
  for (let index = 0; ; index++) yield toolCall({ index, id: `c${index}` });
}

test.each<[string, () => Iterable<string>, string]>([
  ['a line', () => forever(kilobyte, 'data: '), 'a line of its stream has more than 2000000 characters'],
  ['an event of many lines', () => forever(`data: ${kilobyte}\n`), 'an event of its stream has more than 2000000 characters'],
  ['text', () => forever(event({ content: kilobyte })), 'its answer has more than 800000 bytes of JSON'],
  ['a refusal', () => forever(event({ refusal: kilobyte })), 'its answer has more than 800000 bytes of JSON'],
  ['reasoning', () => forever(event({ reasoning_content: kilobyte.repeat(50) })), 'its reasoning has more than 4000000 characters'],
  ['arguments', () => forever(toolCall({ function: { arguments: kilobyte } })), 'its answer has more than 800000 bytes of JSON'],
  [
    'data to be seen again',
    () => [1, 2, 3, 4, 5].map((index) => toolCall({ index, id: `c${index}`, extra_content: { a: kilobyte.repeat(90) } })),
    'its opaque data has more than 400000 characters of JSON',
  ],
  ['calls', manyCalls, 'its answer has more than 128 tool calls'],
  ['events that say nothing', () => forever('data: {}\n\n'.repeat(1_000)), 'its stream has more than 500000 events'],
  [
    'comments after an event',
    () => forever(`:${kilobyte}\n`.repeat(50), event({ content: 'a' })),
    'its stream has more than 128000000 bytes',
  ],
  [
    'an event that is nested',
    () => [`data: {"choices":${nested(1_000)}}\n\n`],
    'a piece of its stream has more than 100 levels of nesting',
  ],
  ...['tool_calls', 'content', 'refusal', 'reasoning', 'reasoning_content'].map((field): [string, () => Iterable<string>, string] => [
    `an event whose list of ${field} goes on`,
    () => [event({ [field]: Array(1_001).fill({}) })],
    'a list in an event of its stream has more than 1000 items',
  ]),
  [
    'an event whose list of choices goes on',
    () => [`data: {"choices":[${'{},'.repeat(600_000)}{}]}\n\n`],
    'a list in an event of its stream has more than 1000 items',
  ],
  [
    'arguments that come as a nested object',
    () => [event({ tool_calls: [{ index: 0, function: { name: 'f', arguments: JSON.parse(`{"a":${nested(1_000)}}`) } }] })],
    'a piece of its stream has more than 100 levels of nesting',
  ],
])('%s without end: the call ends, and its connection', async (_what, body, words) => {
  const { end } = await call(body());
  expect(end).toMatchObject({
    name: 'ModelFailure',
    kind: 'too-large',
    message: expect.stringContaining(`exceeded a size limit: ${words}`),
  });
});

test('of the body of an error no more is read than is used', async () => {
  const { end, isCut, sent } = await call(forever(kilobyte, '{"error":{"message":"Out of cheese. '), { status: 500 });
  expect(end).toMatchObject({ kind: 'server', message: expect.stringContaining('failed (500)') });
  expect(isCut).toBe(true);
  // What the sockets between them hold, too.
  expect(sent).toBeLessThan(20_000_000);
});

test('the body of an error that is deeply nested is reported as text', async () => {
  const { end } = await call([`{"error":{"message":${nested(20_000)}}}`], { status: 400 });
  expect(end).toMatchObject({ kind: 'bad-request', details: { status: 400 } });
});

test('an answer within the limits is accepted, in however many pieces it arrives', async () => {
  const pieces = [...Array(40_000).keys()].map((i) => event({ content: `${i % 10}` }));
  const { end } = await call([...pieces, finish]);
  expect(end).toMatchObject({ finishReason: 'stop', parts: [{ text: expect.stringMatching(/^(0123456789){4000}$/) }] });
});

test('arguments in many pieces, each with the name of the tool, are processed once per piece', async () => {
  const parse = jest.spyOn(JSON, 'parse');
  const piece = (text: string) => event({ tool_calls: [{ function: { name: 'f', arguments: text } }] });
  const text = `{"a":"${'{}'.repeat(5_000)}"}`;
  const { end } = await call([...[...text].map(piece), finish]);
  expect(end).toMatchObject({ parts: [{ name: 'f', arguments: text }] });
  const parsed = parse.mock.calls.reduce((sum, [json]) => sum + String(json).length, 0);
  parse.mockRestore();
  // The events themselves, and the arguments a few times: not once with each piece.
  expect(parsed).toBeLessThan(20 * piece('x').length * text.length);
});

test('an event shows its addition to a call once, in however many fragments it arrives, and nothing if it adds nothing', async () => {
  const piece = (index: number, text: string) => ({ index, function: { arguments: text } });
  const deltas: ModelDelta[] = [];
  const body = [
    toolCall({ index: 0, id: 'a', function: { name: 'f', arguments: '' } }),
    event({ tool_calls: [piece(0, '{"x'), { index: 1, id: 'b' }, piece(0, '":1'), piece(0, '}'), { index: 1, function: { name: 'g' } }] }),
    event({ tool_calls: Array(1_000).fill({ index: 1 }) }),
    finish,
  ];
  const { end } = await call(body, { onDelta: (delta) => deltas.push(delta) });
  expect(end).toMatchObject({ parts: [{ arguments: '{"x":1}' }, { id: 'b', name: 'g', arguments: '' }] });
  expect(deltas).toEqual([
    { type: 'tool-call', index: 0, id: 'a', name: 'f' },
    { type: 'tool-call', index: 0, arguments: '{"x":1}' },
    { type: 'tool-call', index: 1, id: 'b', name: 'g' },
  ]);
});

describe('a message of a provider', () => {
  test.each([
    ['a word that looks like the beginning of an id again and again', 'requestid'.repeat(200_000)],
    ['half a key again and again', 'sk-'.repeat(600_000)],
    ['titles that do not end', '<title'.repeat(300_000)],
    ['spaces', `api key provided:${' '.repeat(1_800_000)}`],
  ])('is processed quickly: %s', (_what, words) => {
    const began = process.cpuUsage();
    expect(safeWords(words, ['a-key-of-mine'], 300).length).toBeLessThanOrEqual(300);
    const { user } = process.cpuUsage(began);
    expect(user / 1_000).toBeLessThan(1_000);
  });

  test('hides a key at the place where the message is cut', () => {
    for (let before = 15_900; before < 16_010; before++) {
      expect(safeWords(`${' '.repeat(before)}secret-key-0123456789`, ['secret-key-0123456789'], 300)).not.toContain('secret');
    }
  });

  test('hides a whole key whose beginning is another key', () => {
    expect(safeWords('given: secret-key-0123456789', ['secret-key', 'secret-key-0123456789'], 300)).toBe('given: [key]');
  });

  test('hides the id of a request only if it contains a digit', () => {
    expect(safeWords("request id: 'ab-12-cd' request identity Request-ID abc123def", [], 300)).toBe(
      'request id: [request] request identity Request-ID [request]',
    );
  });
});

test('long work does not block others', async () => {
  const slices = timeSlices();
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  const until = performance.now() + 300;
  while (performance.now() < until) if (slices.isOver()) await slices.next();
  clearInterval(timer);
  expect(turns).toBeGreaterThan(3);
});
