import { bounds } from '../../../src/core/bounds';
import { BoundedTransport } from '../../../src/tools/mcp/bounded-transport';
import { ProcessTransport } from '../../../src/tools/mcp/process-transport';
import { Rate } from '../../../src/tools/mcp/rate';
import { reconnectLater } from '../../../src/tools/mcp/session';
import { ValueCount } from '../../../src/tools/running/value-count';

afterEach(() => {
  jest.useRealTimers();
});

test.each([
  ['a list', '[1,2,3]', 3],
  ['objects', '{"a":{"b":[]}}', 3],
  ['texts with commas, brackets and quotes', String.raw`["a,b,c[{\",\\",{}]`, 3],
  ['an event after a line with half a text', ': "\ndata: [0,0]\n\n', 2],
  ['an event after another kind of line break', 'id: "\rdata: [0,0]\r\n', 2],
])('values are counted in %s, however its bytes are split', (_, text, count) => {
  const fits = (max: number, step: number) => {
    const values = new ValueCount(max);
    let fit = true;
    for (let at = 0; at < text.length; at += step) fit = values.add(Buffer.from(text.slice(at, at + step)));
    return fit;
  };
  for (const step of [1, 2, 1_000]) expect([fits(count, step), fits(count - 1, step)]).toEqual([true, false]);
});

test('a rate counts ten seconds at a time', () => {
  jest.useFakeTimers();
  const rate = new Rate(2);
  expect([rate.add(), rate.add(), rate.add()]).toEqual([true, true, false]);
  jest.advanceTimersByTime(10_001);
  expect(rate.add()).toBe(true);
});

test.each([
  [0, 1_000],
  [5_000, 5_000],
  [1e12, 30_000],
])('a stream that the server wants to be opened again in %d ms is opened again in %d ms', (askedMs, ms) => {
  jest.useFakeTimers();
  const reconnect = jest.fn();
  reconnectLater(reconnect, askedMs);
  jest.advanceTimersByTime(ms - 1);
  expect(reconnect).not.toHaveBeenCalled();
  jest.advanceTimersByTime(1);
  expect(reconnect).toHaveBeenCalledTimes(1);
});

test('a process that does not read what it is sent is reported', async () => {
  const excesses: string[] = [];
  const transport = new ProcessTransport({ command: 'sleep', args: ['600'] }, (why) => excesses.push(why));
  await transport.start();
  const message = { jsonrpc: '2.0' as const, method: 'x', params: { text: 'x'.repeat(bounds.mcpMessageBytes) } };
  const sent = [transport.send(message), transport.send(message)].map((one) => one.catch(() => undefined));
  expect(excesses).toEqual(['it does not read what it is sent']);
  transport.kill();
  await transport.close();
  await Promise.all(sent);
});

test('answers that a server does not take are bounded, and those that it takes are not counted', async () => {
  const taken: (() => void)[] = [];
  const kill = jest.fn();
  const inner = { start: async () => {}, close: async () => {}, send: () => new Promise<void>((sent) => taken.push(sent)), kill };
  const transport = new BoundedTransport(inner);
  const answer = (id: number) => transport.send({ jsonrpc: '2.0', id, result: {} });
  for (let round = 0; round < 2; round++) {
    const sent = Array.from({ length: bounds.mcpOpenAnswers }, (_, id) => answer(id));
    for (const take of taken.splice(0)) take();
    await Promise.all(sent);
  }
  const open = Array.from({ length: bounds.mcpOpenAnswers }, (_, id) => answer(id));
  expect(kill).not.toHaveBeenCalled();
  await expect(answer(bounds.mcpOpenAnswers)).rejects.toThrow(`it has not taken ${bounds.mcpOpenAnswers} answers to its requests`);
  expect(kill).toHaveBeenCalledTimes(1);
  expect(taken).toHaveLength(bounds.mcpOpenAnswers);
  for (const take of taken) take();
  await Promise.all(open);
});
