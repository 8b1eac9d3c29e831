// An MCP server that asks the user questions in the middle of calls. Arguments: stdio, sessions or modern, and a file to note what it does in.
import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync } from 'node:fs';
import { createServer } from 'node:http';
import {
  createMcpHandler,
  inputRequired,
  inputResponse,
  McpServer,
  UrlElicitationRequiredError,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const [way = 'stdio', notes] = process.argv.slice(2);
const note = (words) => notes && appendFileSync(notes, `${words}\n`);
const text = (words, isError = false) => ({ content: [{ type: 'text', text: words }], ...(isError && { isError }) });
const form = (properties, required = []) => ({ type: 'object', properties, required });
const seats = {
  message: 'How many seats, and where?',
  requestedSchema: form(
    {
      seats: { type: 'integer', title: 'Seats', minimum: 1, maximum: 9 },
      place: {
        type: 'string',
        oneOf: [
          { const: 'w', title: 'Window' },
          { const: 'a', title: 'Aisle' },
        ],
        default: 'w',
      },
      extras: { type: 'array', items: { type: 'string', enum: ['meal', 'bag'] }, maxItems: 1 },
      mail: { type: 'string', format: 'email' },
      insured: { type: 'boolean' },
    },
    ['seats'],
  ),
};
const confirm = { message: 'Really?', requestedSchema: form({ yes: { type: 'boolean' } }, ['yes']) };
const keys = (count) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`key${i}`, { type: 'string' }]));
const hostile = {
  long: { message: 'x'.repeat(1_000_000), requestedSchema: form({}) },
  hidden: {
    message: 'Send it\u202e to\u0007 me\u001b[2J\u200b?',
    requestedSchema: form({ a: { type: 'string', title: 'A\u202e\u001b[31m', description: 'x\ny' } }),
  },
  keys: { message: 'Fill in.', requestedSchema: form(keys(2_000)) },
  moreKeys: { message: 'Fill in.', requestedSchema: form(keys(20_000)) },
  invisible: { message: 'Choose.', requestedSchema: form({ 'a\u200bb': { type: 'string' } }) },
  nested: { message: 'Choose.', requestedSchema: form({ a: { type: 'object', properties: {} } }) },
  contradictory: { message: 'Choose.', requestedSchema: form({ a: { type: 'number', minimum: 5, maximum: 1 } }) },
  empty: { message: '  ', requestedSchema: form({}) },
};

/** A server over the protocol in which it sends requests of its own. */
function askingServer() {
  const server = new McpServer({ name: 'asking', version: '1' });
  const add = (name, annotations, inputSchema, run) =>
    server.registerTool(name, { description: name, inputSchema: z.object(inputSchema), annotations }, async (args, ctx) => {
      note(`begin ${name}`);
      ctx.mcpReq.signal.addEventListener('abort', () => note(`cancelled ${name}`));
      const result = await run(args, (question) => ctx.mcpReq.elicitInput({ mode: 'form', ...question }, { timeout: 3_600_000 }));
      note(`end ${name}`);
      return result;
    });
  const reads = { readOnlyHint: true };
  add('book', reads, {}, async (_, ask) => text(JSON.stringify(await ask(seats))));
  add('two', { idempotentHint: true }, {}, async (_, ask) => text(JSON.stringify([await ask(seats), await ask(confirm)])));
  add('same', reads, {}, async (_, ask) => text(JSON.stringify([await ask(confirm), await ask(confirm)])));
  add('pay', {}, {}, async (_, ask) => text(JSON.stringify(await ask(confirm))));
  add('endless', reads, {}, async (_, ask) => {
    for (let n = 1; ; n++) await ask({ ...confirm, message: `Really, ${n}?` });
  });
  add('clock', reads, {}, async (_, ask) =>
    text(JSON.stringify(await ask({ ...confirm, message: `Now, at ${process.hrtime.bigint()}?` }))),
  );
  add('who', reads, { name: z.string() }, async ({ name }, ask) =>
    text(`${name}: ${JSON.stringify(await ask({ ...confirm, message: `Is it ${name}?` }))}`),
  );
  // Asks late, and whether the call was cancelled or not.
  add('late', reads, { name: z.string(), ms: z.number() }, async ({ name, ms }) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    const question = { mode: 'form', ...confirm, message: `Is it ${name}?` };
    const answer = await server.server.elicitInput(question, { timeout: 3_600_000 }).catch(({ message }) => message);
    note(`asked ${name}`);
    return text(JSON.stringify(answer));
  });
  add('hostile', reads, { how: z.string() }, async ({ how }, ask) =>
    ask(hostile[how]).then(
      (answer) => text(JSON.stringify(answer)),
      (error) => text(error.message, true),
    ),
  );
  add('visit', reads, {}, async (_, ask) =>
    text(
      JSON.stringify(await ask({ mode: 'url', elicitationId: randomUUID(), url: 'https://example.com/sign?in=1', message: 'Sign in.' })),
    ),
  );
  add('authorized', reads, {}, async () => {
    if (existsSync(`${notes}.signed`)) return text('signed in');
    throw new UrlElicitationRequiredError([
      { mode: 'url', elicitationId: randomUUID(), url: 'https://example.com/sign', message: 'Sign in.' },
    ]);
  });
  add('capable', reads, {}, async () => text(JSON.stringify(server.server.getClientCapabilities()?.elicitation ?? null)));
  return server;
}

/** A server over the protocol in which a result says that input is required. */
function modernServer() {
  const server = new McpServer({ name: 'modern', version: '1' });
  const tool = { description: 'Books.', inputSchema: z.object({}), annotations: { readOnlyHint: true } };
  server.registerTool('book', tool, (_, ctx) => {
    note('begin book');
    const response = inputResponse(ctx.mcpReq.inputResponses, 'seats');
    if (response.kind === 'missing') return inputRequired({ inputRequests: { seats: inputRequired.elicit(seats) } });
    return text(JSON.stringify(response));
  });
  return server;
}

async function requestOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = chunks.length > 0 ? { body: Buffer.concat(chunks) } : {};
  return new Request(`http://127.0.0.1${request.url}`, { method: request.method, headers: Object.entries(request.headers), ...body });
}

const sessions = new Map();

async function withSession(request) {
  const known = sessions.get(request.headers.get('mcp-session-id'));
  if (known) return known.handleRequest(request);
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
    onsessionclosed: (id) => {
      note('session closed');
      sessions.delete(id);
    },
  });
  await askingServer().connect(transport);
  return transport.handleRequest(request);
}

if (way === 'stdio') await askingServer().connect(new StdioServerTransport());
else {
  const modern = createMcpHandler(modernServer, { legacy: 'reject' });
  const http = createServer(async (request, response) => {
    const asked = await requestOf(request);
    const answer = await (way === 'modern' ? modern.fetch(asked) : withSession(asked));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    request.on('close', () => answer.body?.cancel().catch(() => undefined));
    response.flushHeaders();
    for await (const chunk of answer.body ?? []) response.write(chunk);
    response.end();
  });
  http.listen(0, '127.0.0.1', () => process.stdout.write(`${http.address().port}\n`));
}
