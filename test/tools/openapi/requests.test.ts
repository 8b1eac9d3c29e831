import { brotliCompressSync, gzipSync } from 'node:zlib';
import { bounds } from '../../../src/core/bounds';
import { type OpenApiOptions, openApiTools } from '../../../src/tools/openapi/openapi-tools';
import { resultOf } from '../../../src/tools/openapi/read-response';
import { createToolbox } from '../../../src/tools/running/toolbox';
import { callOf, hostWith, run, told } from '../tool-host';
import { type ApiServer, json, type Received, startApi, stopServers } from './echo-server';

let api: ApiServer;
beforeAll(async () => {
  api = await startApi();
});
beforeEach(() => {
  api.received = [];
  api.answer = (_, response) => json(response, 200, { ok: true });
});
afterAll(stopServers);

type Operation = Record<string, unknown>;

async function toolOf(
  operation: Operation,
  {
    path = '/a',
    method = 'get',
    document = {} as object,
    ...options
  }: { path?: string; method?: string; document?: object } & Omit<Partial<OpenApiOptions>, 'document'> = {},
) {
  const whole = {
    openapi: '3.0.3',
    servers: [{ url: `${api.url}/base/v1` }],
    paths: { [path]: { [method]: { operationId: 'a', ...operation } } },
    ...document,
  };
  return (await openApiTools({ document: whole, genericTool: false, ...options })).list()[0]!;
}

/** The request that a call sends. */
async function sent(operation: Operation, args: unknown, options: Parameters<typeof toolOf>[1] = {}): Promise<Received> {
  const tool = await toolOf(operation, options);
  const { outcome } = await run(tool, args);
  expect(outcome).toMatchObject({ status: 'success' });
  return api.received.at(-1)!;
}

const list = [3, 4, 5];
const object = { R: 100, G: 200 };
const parameter = (place: string, more: Record<string, unknown>) => ({ parameters: [{ name: 'color', in: place, schema: {}, ...more }] });

// The table of styles in the OpenAPI specification.
describe('[A165] [A166] each place and style of a parameter', () => {
  test.each<[string, string | undefined, boolean | undefined, unknown, string]>([
    ['path', undefined, undefined, 'a/b?c#d é', 'a%2Fb%3Fc%23d%20%C3%A9'],
    ['path', 'simple', false, list, '3,4,5'],
    ['path', 'simple', true, list, '3,4,5'],
    ['path', 'simple', false, object, 'R,100,G,200'],
    ['path', 'simple', true, object, 'R=100,G=200'],
    ['path', 'label', false, 'blue', '.blue'],
    ['path', 'label', false, list, '.3,4,5'],
    ['path', 'label', true, list, '.3.4.5'],
    ['path', 'label', true, object, '.R=100.G=200'],
    ['path', 'matrix', false, 'blue', ';color=blue'],
    ['path', 'matrix', false, list, ';color=3,4,5'],
    ['path', 'matrix', true, list, ';color=3;color=4;color=5'],
    ['path', 'matrix', false, object, ';color=R,100,G,200'],
    ['path', 'matrix', true, object, ';R=100;G=200'],
    ['query', undefined, undefined, 'a&b=c d', 'color=a%26b%3Dc%20d'],
    ['query', undefined, undefined, list, 'color=3&color=4&color=5'],
    ['query', 'form', false, list, 'color=3,4,5'],
    ['query', 'form', false, object, 'color=R,100,G,200'],
    ['query', 'form', true, object, 'R=100&G=200'],
    ['query', 'spaceDelimited', false, list, 'color=3%204%205'],
    ['query', 'pipeDelimited', false, list, 'color=3|4|5'],
    [
      'query',
      'deepObject',
      true,
      { R: 100, in: { x: [1, 2] } },
      'color%5BR%5D=100&color%5Bin%5D%5Bx%5D%5B0%5D=1&color%5Bin%5D%5Bx%5D%5B1%5D=2',
    ],
  ])('%s %s explode=%s', async (place, style, explode, value, expected) => {
    const more = { ...(style && { style }), ...(explode !== undefined && { explode }) };
    const { url } = await sent(parameter(place, more), { color: value }, { path: place === 'path' ? '/a/{color}/end' : '/a' });
    expect(url).toBe(place === 'path' ? `/base/v1/a/${expected}/end` : `/base/v1/a?${expected}`);
  });

  test.each([
    ['a text', {}, 'blue', 'blue'],
    ['a list', {}, list, '3,4,5'],
    ['an object', {}, object, 'R,100,G,200'],
    ['an exploded object', { explode: true }, object, 'R=100,G=200'],
  ])('a header with %s', async (_, more, value, expected) => {
    const { headers } = await sent(parameter('header', more), { color: value });
    expect(headers.color).toBe(expected);
  });

  test('cookies, JSON in a query, and reserved characters', async () => {
    expect((await sent(parameter('cookie', {}), { color: 'a;b' })).headers.cookie).toBe('color=a%3Bb');
    const content = { 'application/json': { schema: {} } };
    expect((await sent(parameter('query', { content }), { color: { a: 1 } })).url).toBe('/base/v1/a?color=%7B%22a%22%3A1%7D');
    expect((await sent(parameter('query', { allowReserved: true }), { color: 'a/b:c&d=e#f' })).url).toBe(
      '/base/v1/a?color=a/b:c%26d=e%23f',
    );
  });

  test('optional parameters that are left out are not sent', async () => {
    const { url, headers } = await sent(
      { parameters: ['query', 'header', 'cookie'].map((place) => ({ name: 'x', in: place, schema: {} })) },
      {},
    );
    expect(url).toBe('/base/v1/a');
    expect(headers).not.toHaveProperty('x');
    expect(headers).not.toHaveProperty('cookie');
  });

  test('parameters of one name in several places, and names that providers refuse, get names of their own', async () => {
    const names = [
      ['id', 'path'],
      ['id', 'query'],
      ['filter[name]', 'query'],
      ['body', 'query'],
    ] as const;
    const operation = {
      parameters: names.map(([name, place]) => ({ name, in: place, schema: { type: 'string' } })),
      requestBody: { content: { 'application/json': { schema: {} } } },
    };
    const args = { id: '1', id_query: '2', filter_name_: '3', body_query: '4', body: 5 };
    const { url, body } = await sent(operation, args, { path: '/a/{id}', method: 'post' });
    expect(url).toBe('/base/v1/a/1?id=2&filter%5Bname%5D=3&body=4');
    expect(body.toString()).toBe('5');
  });

  test('parameters of the path apply to its operations, which may override them, and are followed by reference', async () => {
    const document = {
      components: {
        parameters: { Id: { name: 'id', in: 'path', required: true, schema: { $ref: '#/components/schemas/Id' } } },
        schemas: { Id: { type: 'integer' } },
      },
      paths: {
        '/a/{id}': {
          parameters: [{ $ref: '#/components/parameters/Id' }, { name: 'q', in: 'query', schema: { type: 'integer' } }],
          get: { operationId: 'a', parameters: [{ name: 'q', in: 'query', required: true, schema: { type: 'string' } }] },
        },
      },
    };
    const tool = await toolOf({}, { document });
    expect(tool.parameters).toMatchObject({
      properties: { q: { type: 'string' } },
      required: ['id', 'q'],
      $defs: { Id: { type: 'integer' } },
    });
    expect(await told(tool, { id: 7, q: 'x' })).toContain('ok');
    expect(api.received[0]?.url).toBe('/base/v1/a/7?q=x');
  });

  test.each(['.', '..', '%2e%2E', ''])('a path parameter %j selects no other path', async (value) => {
    const tool = await toolOf(parameter('path', { allowReserved: true }), { path: '/a/{color}/b' });
    const text = await told(tool, { color: value });
    if (value === '%2e%2E') expect(api.received[0]?.url).toBe('/base/v1/a/%252e%252E/b');
    else expect(text).toMatch(/^Error: the path parameter 'color' can't be/);
  });

  test.each([
    ['/a/{color}#second', '/base/v1/a/x%231'],
    ['/a/{color}?beta=true', '/base/v1/a/x%231?beta=true&q=2'],
  ])('a template with more than a path: %s', async (path, expected) => {
    const query = { name: 'q', in: 'query', schema: {} };
    const { url } = await sent(
      { parameters: [...parameter('path', {}).parameters, query] },
      { color: 'x#1', ...(path.includes('?') && { q: 2 }) },
      { path },
    );
    expect(url).toBe(expected);
  });

  test('a header with a line break is refused', async () => {
    expect(await told(await toolOf(parameter('header', {})), { color: 'a\r\nx-evil: 1' })).toMatch(
      /^Error: the value for the header 'color'/,
    );
    expect(api.received).toEqual([]);
  });
});

describe('bodies', () => {
  const body = (mediaType: string, schema: unknown, encoding?: unknown) => ({
    requestBody: { required: true, content: { [mediaType]: { schema, ...(encoding ? { encoding } : {}) } } },
  });
  const post = { method: 'post' };

  test('[A165] JSON is sent with its content type', async () => {
    const request = await sent(body('application/json', { type: 'object' }), { body: { a: [1] } }, post);
    expect(request.headers['content-type']).toBe('application/json');
    expect(request.body.toString()).toBe('{"a":[1]}');
    const patch = await sent(body('application/merge-patch+json', {}), { body: { a: null } }, { method: 'patch' });
    expect(patch.headers['content-type']).toBe('application/merge-patch+json');
  });

  test('[A166] forms', async () => {
    const encoding = { deep: { style: 'deepObject', explode: true }, flat: { style: 'form', explode: false } };
    const value = { a: 'x y&z', list: [1, 2], flat: [1, 2], deep: { b: { c: 1 } }, object: { d: 1 } };
    const request = await sent(body('application/x-www-form-urlencoded', {}, encoding), { body: value }, post);
    expect(request.headers['content-type']).toBe('application/x-www-form-urlencoded');
    expect(Object.fromEntries(new URLSearchParams(request.body.toString()))).toEqual({
      a: 'x y&z',
      list: '2',
      flat: '1,2',
      'deep[b][c]': '1',
      object: '{"d":1}',
    });
  });

  test('[A166] multipart with files', async () => {
    const file = { type: 'string', format: 'binary' };
    const schema = { type: 'object', properties: { note: { type: 'string' }, file, more: { type: 'array', items: file }, data: {} } };
    const value = {
      note: 'hello',
      file: { base64: Buffer.from([0, 255]).toString('base64'), filename: 'a.bin', mediaType: 'image/x-test' },
      more: [{ text: 'one' }, { text: 'two' }],
      data: { a: 1 },
    };
    const request = await sent(body('multipart/form-data', schema, { data: { contentType: 'application/json' } }), { body: value }, post);
    const form = await new Response(new Uint8Array(request.body), {
      headers: { 'content-type': request.headers['content-type']! },
    }).formData();
    expect(form.get('note')).toBe('hello');
    const sentFile = form.get('file') as File;
    expect([sentFile.name, sentFile.type, Buffer.from(await sentFile.arrayBuffer())]).toEqual([
      'a.bin',
      'image/x-test',
      Buffer.from([0, 255]),
    ]);
    expect(await Promise.all(form.getAll('more').map((part) => (part as File).text()))).toEqual(['one', 'two']);
    expect(await (form.get('data') as File).text()).toBe('{"a":1}');
  });

  test('[A166] text and binary data', async () => {
    const text = await sent(body('application/xml', { type: 'object' }), { body: '<a/>' }, post);
    expect([text.headers['content-type'], text.body.toString()]).toEqual(['application/xml', '<a/>']);
    const bytes = await sent(body('application/octet-stream', { type: 'string', format: 'binary' }), { body: { base64: 'AP8=' } }, post);
    expect([bytes.headers['content-type'], bytes.body]).toEqual(['application/octet-stream', Buffer.from([0, 255])]);
    expect(await told(await toolOf(body('image/png', {}), post), { body: {} })).toContain('fits none of its forms');
  });

  test('properties that only answers have are not asked for', async () => {
    const schema = {
      type: 'object',
      required: ['id', 'name'],
      properties: { id: { type: 'string', readOnly: true }, name: { type: 'string' } },
    };
    const { parameters } = await toolOf(body('application/json', schema), post);
    expect(parameters.properties).toMatchObject({ body: { required: ['name'], properties: { name: { type: 'string' } } } });
    expect(parameters).not.toHaveProperty('properties.body.properties.id');
  });
});

describe('servers', () => {
  const url = (servers: unknown, options: Parameters<typeof toolOf>[1] = {}) =>
    sent({}, {}, { document: { servers }, ...options }).then((request) => `${request.headers.host}${request.url}`);
  const host = () => new URL(api.url).host;

  test('[A166] the base path stays, and variables have their defaults or the values given', async () => {
    const servers = [{ url: `${api.url}/{version}/x/`, variables: { version: { default: 'v2', enum: ['v2', 'v3'] } } }];
    expect(await url(servers)).toBe(`${host()}/v2/x/a`);
    expect(await url(servers, { serverVariables: { version: 'v3' } })).toBe(`${host()}/v3/x/a`);
    const refused = await openApiTools({
      document: { openapi: '3.0.0', servers, paths: { '/a': { get: { operationId: 'a' } } } },
      genericTool: false,
      serverVariables: { version: 'v9' },
    });
    expect(refused.skipped).toEqual(["GET /a: the server variable 'version' must be one of v2, v3."]);
  });

  test('the server of an operation takes precedence, and the override over all', async () => {
    const tool = await toolOf({ servers: [{ url: `${api.url}/own` }] });
    await run(tool, {});
    expect(api.received.at(-1)?.url).toBe('/own/a');
    expect(await url([{ url: 'https://unreachable.invalid' }], { server: `${api.url}/override?api-version=1` })).toBe(
      `${host()}/override/a?api-version=1`,
    );
  });
});

describe('answers', () => {
  const answered = async (status: number, body: string | Buffer, headers: Record<string, string> = {}, method = 'get') => {
    api.answer = (_, response) => response.writeHead(status, headers).end(body);
    return (await run(await toolOf({}, { method }), {})).outcome;
  };

  test('[A167] a status that is not 2xx is a failed call with the status and the body', async () => {
    const outcome = await answered(404, '{"reason":"no pet"}', { 'content-type': 'application/json' });
    const host = new URL(api.url).host;
    expect(outcome).toMatchObject({
      status: 'failed',
      content: `Error: GET /a at ${host} failed with status 404.\n{\n "reason": "no pet"\n}`,
      error: { name: 'ApiError', message: `GET /a at ${host} failed with status 404.` },
    });
  });

  test('[A167] a service that is not there is a failed call, and an empty answer is null', async () => {
    const gone = await startApi();
    await gone.stop();
    const tool = await toolOf({}, { server: gone.url });
    expect((await run(tool, {})).outcome).toMatchObject({
      status: 'failed',
      content: `Error: GET /a at ${new URL(gone.url).host}: no response (ECONNREFUSED).`,
    });
    expect(await answered(204, '')).toMatchObject({ status: 'success', content: 'null' });
  });

  test.each([
    [503, 'get', true],
    [429, 'put', true],
    [503, 'post', true],
    [404, 'get', false],
    [501, 'get', false],
  ])('after a status %s of %s, the call may be tried again: %s', async (status, method, threw) => {
    api.answer = (_, response) => response.writeHead(status, { 'retry-after': '7' }).end('later');
    const tool = await toolOf({}, { method });
    const execution = await run(tool, {});
    expect(execution.threw).toBe(threw);
    expect(execution.outcome.content).toContain('later\n[retry-after: 7]');
    expect(tool.retry).toEqual(method === 'post' ? undefined : { maxAttempts: 3, initialMs: 1_000, maxMs: 30_000 });
  });

  test('deep JSON is not indented, which would multiply its size', async () => {
    const deep = `${'['.repeat(30)}1${']'.repeat(30)}`;
    expect(await answered(200, ` ${deep}`)).toMatchObject({ content: deep });
  });

  test('JSON with many values, or of many bytes, stays as it came', async () => {
    const values = (count: number) => `[${'1,'.repeat(count - 1)}1]`;
    const textOf = async (body: string) =>
      resultOf(new Response(body), { what: 'a', secrets: [], maxBytes: bounds.collectedBytes, threadId: 't' });
    const parsing = jest.spyOn(JSON, 'parse');
    try {
      const [most, more] = [values(bounds.indentedJsonValues), values(bounds.indentedJsonValues + 1)];
      expect((await textOf(most)) === `[\n ${'1,\n '.repeat(bounds.indentedJsonValues - 1)}1\n]`).toBe(true);
      expect(await textOf(`["${'x'.repeat(bounds.indentedJsonBytes - 4)}"]`)).toMatch(/^\[\n "x/);
      parsing.mockClear();
      expect((await textOf(more)) === more).toBe(true);
      const long = `["${'x'.repeat(bounds.indentedJsonBytes - 3)}"]`;
      expect((await textOf(long)) === long).toBe(true);
      expect(parsing).not.toHaveBeenCalled();
    } finally {
      parsing.mockRestore();
    }
  });

  test('two large answers of a thread are held at a time, and four of all; small ones do not wait', async () => {
    const ends: (() => void)[] = [];
    const done: string[] = [];
    const answer = (threadId: string, bytes: number, isEnded = false) => {
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(Buffer.alloc(bytes, 'x'));
          if (isEnded) controller.close();
          else ends.push(() => controller.close());
        },
      });
      const read = resultOf(new Response(body), { what: 'a', secrets: [], maxBytes: bounds.collectedBytes, threadId });
      return read.then((text) => done.push(`${threadId}${String(text).length}`));
    };
    const settled = async () => {
      for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
      return done.splice(0);
    };
    const all = ['a', 'a', 'b', 'b'].map((thread) => answer(thread, 100_000));
    all.push(answer('a', 100_001, true), answer('c', 100_002, true), answer('a', 10, true));
    expect(await settled()).toEqual(['a10']);
    ends.shift()?.();
    expect(await settled()).toEqual(['a100000', 'a100001', 'c100002']);
    for (const end of ends) end();
    await Promise.all(all);
  });

  test('gzip is asked for and read; an encoding whose decoder takes megabytes is not', async () => {
    const body = '{"a":1}';
    const type = { 'content-type': 'application/json' };
    expect(await answered(200, gzipSync(body), { ...type, 'content-encoding': 'gzip' })).toMatchObject({ content: '{\n "a": 1\n}' });
    expect(api.received.at(-1)?.headers['accept-encoding']).toBe('gzip, deflate');
    for (const encoding of ['br', 'gzip, BR']) {
      expect(await answered(200, brotliCompressSync(body), { ...type, 'content-encoding': encoding })).toMatchObject({
        status: 'failed',
        content: expect.stringMatching(/the service answered \(status 200\) in the encoding br, which was not asked for/i),
      });
    }
  });

  test('JSON, text, images, PDFs and other data', async () => {
    const data = Buffer.from([0x89, 0x50, 0xff]);
    const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
    expect(await answered(200, '{"a":[1]}')).toMatchObject({ content: '{\n "a": [\n  1\n ]\n}' });
    expect(await answered(200, 'héllo', { 'content-type': 'text/plain', link: '</b>; rel="next"' })).toMatchObject({
      content: 'héllo\n[link: </b>; rel="next"]',
    });
    expect(await answered(200, png, { 'content-type': 'image/png' })).toMatchObject({
      content: [{ type: 'image', url: `data:image/png;base64,${png.toString('base64')}` }],
    });
    expect(await answered(200, '%PDF-1.7\n%%EOF\n', { 'content-type': 'application/pdf' })).toMatchObject({
      content: [{ type: 'file', mediaType: 'application/pdf' }],
    });
    for (const type of ['application/zip', 'image/png', 'image/gif', 'application/pdf']) {
      expect(await answered(200, data, { 'content-type': type })).toMatchObject({ content: '[3 bytes of binary data, not kept]' });
    }
    expect(await answered(200, png.subarray(0, -20), { 'content-type': 'image/png' })).toMatchObject({
      content: expect.stringContaining('bytes of binary data'),
    });
    expect(await answered(200, 'not an image', { 'content-type': 'image/png' })).toMatchObject({ content: 'not an image' });
  });

  test('an answer without an end is read up to a limit, and then the transfer stops', async () => {
    let closed = false;
    api.answer = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      const more = () => {
        while (!closed && response.write('x'.repeat(65_536)));
        if (!closed) response.once('drain', more);
      };
      response.on('close', () => {
        closed = true;
      });
      more();
    };
    expect(await told(await toolOf({}), {})).toMatch(/\[The response is longer than 1048576 bytes; the rest was not read\.\]$/);
    while (!closed) await new Promise((next) => setTimeout(next, 10));
  });

  test('a call that is cancelled stops its request', async () => {
    const controller = new AbortController();
    const closed = new Promise<void>((resolve) => {
      api.answer = (_, response) => {
        response.on('close', resolve);
        controller.abort();
      };
    });
    const execution = await run(await toolOf({}), {}, hostWith({ signal: controller.signal }));
    expect(execution.outcome.status).toBe('cancelled');
    await closed;
  });
});

describe('redirects', () => {
  const credentials = { credentials: () => 'token-123', auth: { type: 'http', scheme: 'bearer' } } as const;

  test('are followed on the same origin, and no other origin gets a request', async () => {
    const other = await startApi();
    api.answer = ({ url }, response) => {
      if (url === '/base/v1/a') response.writeHead(302, { location: '/moved' }).end();
      else if (url === '/moved') response.writeHead(307, { location: `${other.url}/stolen` }).end();
    };
    const outcome = (await run(await toolOf({}, credentials), {})).outcome;
    expect(outcome).toMatchObject({ status: 'failed', content: expect.stringContaining(`not followed.\n[location: ${other.url}/stolen]`) });
    expect(api.received.map(({ url, headers }) => [url, headers.authorization])).toEqual([
      ['/base/v1/a', 'Bearer token-123'],
      ['/moved', 'Bearer token-123'],
    ]);
    expect(other.received).toEqual([]);
  });

  test('end after five', async () => {
    api.answer = (_, response) => response.writeHead(302, { location: '/again' }).end();
    expect((await run(await toolOf({}), {})).outcome.status).toBe('failed');
    expect(api.received).toHaveLength(6);
  });
});

describe('the generic tool', () => {
  const generic = async (args: unknown, options: Partial<OpenApiOptions> = {}) => {
    const document = {
      openapi: '3.0.0',
      servers: [{ url: `${api.url}/base` }],
      paths: {},
      components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
    };
    const tool = (await openApiTools({ document, genericTool: true, ...options })).list().find(({ name }) => name === 'http_request')!;
    expect(tool.effect).toBe('once');
    return told(tool, args);
  };

  test('sends a request below the base URL', async () => {
    await generic({ method: 'POST', path: '/x/y', query: { a: [1, 2] }, headers: { 'X-A': 'b' }, body: { c: 1 } });
    expect(api.received[0]).toMatchObject({
      method: 'POST',
      url: '/base/x/y?a=1&a=2',
      headers: { 'x-a': 'b', 'content-type': 'application/json' },
    });
    expect(api.received[0]?.body.toString()).toBe('{"c":1}');
  });

  test.each(['/../admin', '/%2e%2e/admin', '/a/../../admin', '/..\\..\\admin'])('does not leave it: %s', async (path) => {
    expect(await generic({ method: 'GET', path })).toBe('Error: the path leads out of the service.');
    expect(api.received).toEqual([]);
  });

  test.each(['Authorization', 'cookie', 'HOST', 'x-key', 'X-Forwarded-For', 'X-HTTP-Method-Override', 'X-Original-URL'])(
    'does not set the header %s',
    async (name) => {
      expect(await generic({ method: 'GET', path: '/', headers: { [name]: 'x' } })).toBe(`Error: the header '${name}' can't be set.`);
    },
  );

  describe('approvals', () => {
    const judge = async (genericTool: OpenApiOptions['genericTool'], args: object) => {
      const id = { in: 'path', name: 'id', required: true };
      const document = {
        openapi: '3.0.0',
        servers: [{ url: `${api.url}/base` }],
        paths: {
          '/pets/{id}': { delete: { operationId: 'deletePet', parameters: [id] }, get: { operationId: 'getPet', parameters: [id] } },
        },
      };
      const settings: OpenApiOptions['settings'] = ({ method }) =>
        method === 'GET' ? undefined : { approval: { reason: 'deletes a pet' } };
      const tools = await openApiTools({ document, genericTool: genericTool!, settings });
      return createToolbox(tools.list()).judge(callOf('http_request', args));
    };

    test('each call needs approval unless the user sets another rule', async () => {
      expect(await judge(true, { method: 'GET', path: '/other' })).toHaveProperty('approval');
      expect(await judge({ approval: 'never' }, { method: 'GET', path: '/other' })).not.toHaveProperty('approval');
      expect(await judge({ approval: 'never' }, { method: 'GET', path: '/pets/1' })).not.toHaveProperty('approval');
      const onPost = { approval: ({ method }: Record<string, unknown>) => method === 'POST' };
      expect(await judge(onPost, { method: 'POST', path: '/other' })).toHaveProperty('approval');
      expect(await judge(onPost, { method: 'GET', path: '/other' })).not.toHaveProperty('approval');
      await expect(judge({ approval: 'sometimes' as never }, {})).rejects.toThrow('the approval of genericTool');
    });

    test.each([
      ['/pets/1'],
      ['/pets/1/'],
      ['//Pets/1'],
      ['/x/../pets/1'],
      ['/%70ets/1'],
      ['/%2570ets%252F1'],
      ['/pets;a=b/1'],
      ['/pets%2f1'],
      ['/pets/a/b'],
      ['/x/%252e%252e/pets/1'],
    ])('a request that may amount to an operation with an approval is refused, whatever the approval of http_request: %s', async (path) => {
      const error = { message: expect.stringMatching(/use the tool 'deletePet'|encoded dot segments/) };
      expect(await judge({ approval: 'never' }, { method: 'DELETE', path })).toMatchObject({ kind: 'reject', error });
      expect(await judge(true, { method: 'DELETE', path })).toMatchObject({ kind: 'reject', error });
    });

    test.each([
      { method: 'POST', path: '/pets/1', query: { _method: 'DELETE' } },
      { method: 'POST', path: '/pets/1', headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: '_method=DELETE' },
      { method: 'HEAD', path: '/run' },
      { method: 'GET', path: '/' },
      { method: 'POST', path: '/orders', query: { action: 'refund' } },
      { method: 'POST', path: '/orders/refund' },
      { method: 'POST', path: '/v1/operations/1:cancel' },
    ])('so is one that the service may take for such an operation: %j', async (args) => {
      const id = { in: 'path', name: 'id', required: true };
      const document = {
        openapi: '3.0.0',
        servers: [{ url: `${api.url}/base` }],
        paths: {
          '/pets/{id}': { delete: { operationId: 'deletePet', parameters: [id] } },
          '/run': { get: { operationId: 'run' } },
          '/#Target=DeleteAll': { get: { operationId: 'deleteAll' } },
          '/orders/{id}': { post: { operationId: 'order', parameters: [id] } },
          '/orders?action=refund': { post: { operationId: 'refund' } },
          '/v1/{id}:cancel': { post: { operationId: 'cancel', parameters: [id] } },
        },
      };
      const tools = await openApiTools({ document, genericTool: { approval: 'never' }, settings: () => ({ approval: () => false }) });
      const toolbox = createToolbox(tools.list());
      expect(await toolbox.judge(callOf('http_request', args))).toMatchObject({ kind: 'reject' });
      expect(await toolbox.judge(callOf('http_request', { method: 'GET', path: '/other' }))).toMatchObject({ kind: 'run' });
    });
  });
});
