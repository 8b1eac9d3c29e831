import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { bounds } from '../../../src/core/bounds';
import { type HttpServer, startHttp } from './hostile-http';
import { endHosts, mcpHost } from './mcp-host';

let server: HttpServer | undefined;

afterEach(async () => {
  await endHosts();
  await server?.stop();
});

const tools = [{ name: 'call', inputSchema: { type: 'object' } }];

test('a server over HTTP that asks and does not take the answers is left, with a bounded number of open requests', async () => {
  let open = 0;
  const streams: ServerResponse[] = [];
  server = await startHttp({
    tools,
    stream(response) {
      streams.push(response);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let id = 0; id < 1_000; id++) response.write(`data: {"jsonrpc":"2.0","id":${id},"method":"ping"}\n\n`);
    },
    onAnswer() {
      open += 1;
    },
  });
  const { names } = mcpHost({ web: { url: server.url } });
  await names();
  const [stream] = streams;
  if (!stream) throw new Error('no stream was opened');
  if (!stream.destroyed) await once(stream, 'close');
  expect(open).toBeLessThanOrEqual(bounds.mcpOpenAnswers);
});

test.each(['application/json', 'text/event-stream'])('a result with too many values, as %s, is not parsed', async (type) => {
  server = await startHttp({
    tools,
    call: () => ({ content: [], structuredContent: { rows: Array(200_000).fill(0) } }),
    type,
  });
  const { told } = mcpHost({ web: { url: server.url } });
  expect(await told('web__call')).toContain(
    `it sent an answer of more than ${bounds.mcpMessageBytes} bytes or ${bounds.mcpMessageValues} values`,
  );
});
