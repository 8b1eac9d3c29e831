import type { LookupAddress, lookup } from 'node:dns';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { createPermissions } from '../../src/tools/permissions/permissions';
import { openUrl, publicLookup } from '../../src/tools/web/open-url';
import { isPublicAddress } from '../../src/tools/web/public-address';
import { readableText } from '../../src/tools/web/readable-text';
import { createWebFetch } from '../../src/tools/web/web-fetch';
import { run, told } from './tool-host';

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** A server on loopback; returns its host. */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function fetched(listener: RequestListener, options: { timeoutMs?: number } = {}, path = '/') {
  const host = await serve(listener);
  return {
    host,
    ...(await run(createWebFetch({ privateHosts: [host], approval: 'never', ...options }), { url: `http://${host}${path}` })),
  };
}

const answering =
  (type: string, body: string | Buffer, headers: Record<string, string> = {}): RequestListener =>
  (_, response) =>
    response.writeHead(200, { 'content-type': type, ...headers }).end(body);

describe('web_fetch', () => {
  test('[B160] gives HTML as readable text, with absolute links, and without scripts', async () => {
    const page = `<title>Notes &amp; more</title><script>alert("hidden")</script><style>p {}</style>
      <h2>One</h2><p>A <a href="/next?a=1">link</a>,<br>and <b>bold</b>.</p><ul><li>first<li>second<ul><li>inner</ul></ul>
      <pre>  x = 1\n  y</pre><table><tr><th>a<th>b<tr><td>1<td>2</table><svg><text>drawn</text></svg>`;
    const { outcome, host } = await fetched(answering('text/html; charset=utf-8', page), {}, '/page');
    expect(outcome.status).toBe('success');
    expect(outcome.content).toBe(
      [
        `http://${host}/page (status 200, text/html, ${Buffer.byteLength(page)} bytes)\n`,
        '# Notes & more\n',
        '## One\n',
        `A link (http://${host}/next?a=1),\nand bold.\n`,
        '- first\n- second\n\n  - inner\n',
        '```\n  x = 1\n  y\n```\n',
        'a | b\n1 | 2',
      ].join('\n'),
    );
  });

  test('gives other text as it is, in its encoding, also if it is compressed or has no type', async () => {
    const content = async (listener: RequestListener) => String((await fetched(listener)).outcome.content).replace(/^.*\n\n/, '');
    expect(await content(answering('application/json', '{"a":[1]}'))).toBe('{"a":[1]}');
    expect(await content(answering('text/plain; charset=iso-8859-1', Buffer.from('caf\xe9', 'latin1')))).toBe('café');
    expect(await content(answering('text/html', Buffer.from('<meta charset="shift_jis"><p>\x93\xfa', 'latin1')))).toBe('日');
    expect(await content(answering('text/plain', gzipSync('packed'), { 'content-encoding': 'gzip' }))).toBe('packed');
    expect(await content((_, response) => response.end('no type: ü'))).toBe('no type: ü');
  });

  test('[B160] gives an image as an image, and refuses a damaged one and other binary data with a clear text', async () => {
    const gif = Buffer.from('GIF89a\x2c\x01\xc8\x00\x00\x00\x00\x2c....\x3b', 'latin1');
    const { outcome } = await fetched(answering('image/gif', gif));
    expect(outcome.content).toEqual([
      { type: 'text', text: expect.stringContaining('image/gif') },
      { type: 'image', url: `data:image/gif;base64,${gif.toString('base64')}` },
    ]);
    for (const [type, body] of [
      ['image/gif', gif.subarray(0, -1)],
      ['application/zip', Buffer.from('PK\x03\x04\x00\x00')],
      ['text/plain', Buffer.from('a\0b')],
    ] as const) {
      const refused = (await fetched(answering(type, body))).outcome;
      expect(refused).toMatchObject({ status: 'failed', error: { name: 'FetchContentError' } });
      expect(refused.content).toContain('is neither text nor an image or PDF that can be shown');
    }
  });

  test('[B160] reads at most 4 MB, also of an answer that never ends or that is small only while compressed', async () => {
    const endless: RequestListener = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      };
      response.on('drain', more);
      more();
    };
    const bomb = answering('text/plain', gzipSync(Buffer.alloc(60_000_000, 'x')), { 'content-encoding': 'gzip' });
    for (const listener of [endless, bomb]) {
      const { outcome } = await fetched(listener);
      expect(outcome).toMatchObject({ status: 'success', content: expect.stringMatching(/more than 4000000 bytes/) });
      expect(outcome.content).toContain('[The rest was not read.]');
    }
  });

  test('the text of a page is bounded, however long the addresses of its short links are', async () => {
    const page = `<base href="/"><p>€ ${'<a href>y</a>'.repeat(300_000)}`;
    const { text, isCut } = await readableText(page, new URL(`https://example.com/${'x'.repeat(400)}`));
    expect(text.length).toBeLessThanOrEqual(4_000_000);
    expect(isCut).toBe(true);
    const { outcome } = await fetched(answering('text/html', page), {}, `/${'x'.repeat(400)}`);
    expect(outcome).toMatchObject({ status: 'success', content: expect.stringMatching(/\[The rest was not read\.\]/) });
  });

  test('an answer of no stated length that the timeout or a broken connection cuts off is not taken for a complete one', async () => {
    const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{"balance": 1';
    const raw = async (write: (socket: Socket) => void, timeoutMs = 20_000) =>
      (await fetched(({ socket }) => write(socket), { timeoutMs })).outcome;
    expect(await raw((socket) => socket.write(head), 300)).toMatchObject({ status: 'timed-out', error: { name: 'FetchTimeoutError' } });
    const broken = await raw((socket) => socket.write(head, () => setTimeout(() => socket.resetAndDestroy(), 100)));
    expect(broken).toMatchObject({ status: 'failed', content: expect.stringMatching(/no complete answer from .*ECONNRESET/) });
  });

  test('a switch of protocols is a failure at once, and an endless body that decodes to nothing ends with the timeout', async () => {
    const switching: RequestListener = ({ socket }) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    expect((await fetched(switching)).outcome).toMatchObject({ status: 'failed' });
    const nothing = Buffer.concat(Array(2_000).fill(gzipSync('')));
    const endless: RequestListener = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' });
      const more = () => {
        while (!response.destroyed && response.write(nothing));
      };
      response.on('drain', more);
      more();
    };
    const { outcome } = await fetched(endless, { timeoutMs: 500 });
    // The tool's own timeout, 10 s later, would give another error.
    expect(outcome).toMatchObject({ status: 'timed-out', error: { name: 'FetchTimeoutError' } });
  });

  test('[B160] an answer that does not come, or stops, is a timeout', async () => {
    for (const listener of [() => {}, ((_, response) => response.writeHead(200).write('a')) as RequestListener]) {
      const { outcome } = await fetched(listener, { timeoutMs: 300 });
      expect(outcome).toMatchObject({ status: 'timed-out', error: { name: 'FetchTimeoutError' } });
      expect(outcome.content).toMatch(/^Error: 127\.0\.0\.1:\d+ did not answer completely within 0\.3 s\.$/);
    }
  });

  test('a status that is not 2xx is a failure with what the server says', async () => {
    const { outcome } = await fetched((_, response) => response.writeHead(404, { 'content-type': 'text/html' }).end('<p>Gone away'));
    expect(outcome).toMatchObject({ status: 'failed', error: { name: 'FetchStatusError' } });
    expect(outcome.content).toMatch(/^Error: http.*\(status 404, .*\)\n\nGone away$/);
  });

  test('[B160] tells failures of names, certificates and connections apart', async () => {
    const fetchAny = createWebFetch({ privateHosts: ['127.0.0.1:1', 'no-such-host.invalid'], approval: 'never' });
    const nameOf = async (url: string, tool = fetchAny) => (await run(tool, { url })).outcome.error?.name;
    expect(await nameOf('http://no-such-host.invalid/')).toBe('FetchNameError');
    expect(await nameOf('http://127.0.0.1:1/')).toBe('FetchConnectionError');
    const host = await serve(answering('text/plain', 'not encrypted'));
    expect(await nameOf(`https://${host}/`, createWebFetch({ privateHosts: [host], approval: 'never' }))).toBe('FetchCertificateError');
  });

  test('sends no cookies, and none that the server set', async () => {
    const seen: unknown[] = [];
    await fetched((request, response) => {
      seen.push(request.headers.cookie, request.headers.authorization, request.headers.referer);
      if (request.url === '/') response.writeHead(302, { location: '/next', 'set-cookie': 'a=1' }).end();
      else response.end('ok');
    });
    expect(seen).toEqual(Array(6).fill(undefined));
  });

  test.each([
    ['ftp://example.com/', 'must begin with https: or http:'],
    ['file:///etc/passwd', 'must begin with https: or http:'],
    ['https://user:secret@example.com/', 'must not contain credentials'],
    ['/path', 'is not an absolute URL'],
  ])('refuses the URL %s', async (url, why) => {
    expect((await run(createWebFetch(), { url })).outcome).toMatchObject({ status: 'rejected', content: expect.stringContaining(why) });
  });
});

describe('redirects', () => {
  test('are followed on the same host, and counted', async () => {
    const listener: RequestListener = (request, response) => {
      const left = Number(request.url?.slice(1));
      if (left === 0) response.end('arrived');
      else response.writeHead(302, { location: `/${left - 1}` }).end();
    };
    expect((await fetched(listener, {}, '/5')).outcome.content).toContain('arrived');
    expect((await fetched(listener, {}, '/6')).outcome).toMatchObject({ status: 'failed', error: { name: 'FetchRedirectError' } });
  });

  test.each(['http://169.254.169.254/latest/', 'http://localhost:1/', 'https://example.com/', 'file:///etc/passwd', 'http://[::1'])(
    'to %s is shown, and not followed',
    async (location) => {
      const { outcome } = await fetched((_, response) => response.writeHead(307, { location }).end());
      expect(outcome).toMatchObject({ status: 'failed', error: { name: 'FetchRedirectError' } });
      expect(outcome.content).toContain(`redirects to ${location}`);
    },
  );
});

describe('addresses', () => {
  const special = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.1',
    '0',
    '10.1.2.3',
    '100.64.0.1',
    '169.254.169.254',
    '172.31.0.1',
    '192.168.0.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '[::]',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:8.8.8.8]',
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '[2001:0:1::1]',
    '[fe80::1]',
    '[fec0::1]',
    '[fd00::1]',
    '[ff02::1]',
    'localhost',
  ];

  test.each(special)('%s is refused', async (host) => {
    const { outcome } = await run(createWebFetch({ approval: 'never' }), { url: `http://${host}:1/` });
    expect(outcome).toMatchObject({ status: 'failed', error: { name: 'FetchAddressError' } });
    expect(outcome.content).toContain('not');
  });

  test('public ones are those of no special range', () => {
    for (const address of ['8.8.8.8', '1.1.1.1', '172.32.0.1', '100.128.0.1', '2606:4700:4700::1111', '2a00:1450::1']) {
      expect([address, isPublicAddress(address)]).toEqual([address, true]);
    }
    const byte = fc.integer({ min: 0, max: 255 });
    fc.assert(
      fc.property(byte, byte, byte, byte, (...[a, b, c, d]) => {
        const [four, hex] = [`${a}.${b}.${c}.${d}`, (((a << 24) | (b << 16) | (c << 8) | d) >>> 0).toString(16).padStart(8, '0')];
        const within = [`::ffff:${four}`, `::${four}`, `64:ff9b::${four}`, `2002:${hex.slice(0, 4)}:${hex.slice(4)}::1`];
        expect(within.map(isPublicAddress)).toEqual([false, false, false, false]);
        if ([0, 10, 127].includes(a) || a >= 224) expect(isPublicAddress(four)).toBe(false);
      }),
    );
    for (const no of ['', 'localhost', '8.8.8', '8.8.8.8/8', 'fe80::1%eth0']) expect(isPublicAddress(no)).toBe(false);
  });

  test('are checked when the connection is made, which uses what was checked: a name can not change in between', async () => {
    const host = await serve(answering('text/plain', 'inside'));
    const resolveTo = (...addresses: string[]) => {
      const resolve = jest.fn((_name: string, _options: object, callback: (error: null, found: LookupAddress[]) => void) =>
        callback(
          null,
          addresses.map((address) => ({ address, family: 4 })),
        ),
      );
      return resolve as unknown as typeof lookup & jest.Mock;
    };
    for (const resolve of [resolveTo('127.0.0.1'), resolveTo('8.8.8.8', '127.0.0.1')]) {
      const url = new URL(`http://rebound.example:${host.split(':')[1]}/`);
      const opened = openUrl(url, { signal: new AbortController().signal, headers: {}, mayBePrivate: false, resolve });
      await expect(opened).rejects.toThrow('rebound.example has the address 127.0.0.1, which is not public');
      expect(resolve).toHaveBeenCalledTimes(1);
    }
    const found = await new Promise((done) => publicLookup(resolveTo('8.8.8.8'))('a.example', {}, (...answer) => done(answer)));
    expect(found).toEqual([null, '8.8.8.8', 4]);
  });

  test('a private host is reached only if the settings name it, with its port', async () => {
    const host = await serve(answering('text/plain', 'inside'));
    const other = await serve(answering('text/plain', 'other'));
    const tool = createWebFetch({ privateHosts: [host], approval: 'never' });
    expect(await told(tool, { url: `http://${host}/` })).toContain('inside');
    expect(await told(tool, { url: `http://${other}/` })).toContain('is not a public address');
  });
});

describe('readable text', () => {
  const base = new URL('https://example.com/a/');

  test('of hostile pages takes bounded time, or is refused', async () => {
    const pages = {
      nested: '<div>'.repeat(200_000),
      'end tags': `${'<b>'.repeat(900)}${'</x>'.repeat(300_000)}`,
      paragraphs: '<p>a'.repeat(300_000),
      links: '<a href=x>'.repeat(300_000),
      tags: '<'.repeat(1_000_000),
      attributes: `<a ${'b=c '.repeat(300_000)}>`,
      references: '&amp'.repeat(300_000),
      comments: '<!--'.repeat(300_000),
      lists: '<ul><li>x</ul>'.repeat(250_000),
    };
    for (const [name, page] of Object.entries(pages)) {
      const from = performance.now();
      await readableText(page, base).catch((error: Error) => expect(error.name).toBe('UnreadablePageError'));
      expect([name, performance.now() - from < 10_000]).toEqual([name, true]);
    }
  });

  test('of many pages at once counts for each page its own time only', async () => {
    const page = '<p>a <b>b</b>'.repeat(100_000);
    const from = performance.now();
    await readableText(page, base);
    const many = Math.ceil(4_000 / (performance.now() - from));
    const texts = await Promise.all(Array.from({ length: many }, () => readableText(page, base)));
    expect(texts).toHaveLength(many);
  }, 60_000);

  test('that nobody waits for any more ends, and those after it go on', async () => {
    const stopped = readableText('<p>a'.repeat(300_000), base, AbortSignal.abort(new Error('the call is over')));
    await expect(stopped).rejects.toThrow('the call is over');
    expect((await readableText('<p>one', base)).text).toBe('one');
  });

  test('never fails on anything that parses, and contains the words', async () => {
    const tag = fc.constantFrom(
      'p',
      'div',
      'ul',
      'li',
      'a',
      'pre',
      'td',
      'tr',
      'table',
      'h1',
      'script',
      'title',
      'br',
      'template',
      'button',
    );
    const piece = fc.oneof(
      tag.map((name) => `<${name} href="x">`),
      tag.map((name) => `</${name}>`),
      fc.constantFrom(' word ', '&lt;', '<', '\n', '"'),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 40 }), async (pieces) => {
        expect(typeof (await readableText(pieces.join(''), base)).text).toBe('string');
      }),
    );
    expect((await readableText('<p>one<p>two', base)).text).toBe('one\n\ntwo');
  });
});

describe('the permissions', () => {
  const call = (url: string) => ({ tool: 'web_fetch', args: { url } });

  test('ask in the default mode, unless a rule allows the host', () => {
    const permissions = createPermissions({ mode: 'minimal', allow: [{ tool: 'web_fetch', host: 'docs.example.com' }] });
    expect(permissions.decide(call('https://docs.example.com/a?b'))).toBe('allow');
    for (const url of [
      'https://example.com/',
      'https://docs.example.com:8443/',
      'https://docs.example.com.evil.test/',
      'https://docs.example.com@evil.test/',
      'nonsense',
    ])
      expect([url, permissions.decide(call(url))]).toEqual([url, 'ask']);
    expect(createPermissions({ mode: 'trusted' }).decide(call('https://example.com/'))).toBe('ask');
  });

  test('offer to remember the host only, and what was remembered allows that host only', () => {
    const permissions = createPermissions({ mode: 'minimal' });
    const rules = permissions.suggest(call('https://Docs.Example.com:8443/secret?token=1'));
    expect(rules).toEqual([{ tool: 'web_fetch', host: 'docs.example.com:8443' }]);
    expect(permissions.decide({ ...call('https://docs.example.com:8443/'), rules })).toBe('allow');
    expect(permissions.decide({ ...call('https://docs.example.com/'), rules })).toBe('ask');
    expect(permissions.suggest(call('nonsense'))).toEqual([]);
  });

  test('a host that was remembered over https: is not allowed over http:, and the other way round', () => {
    const permissions = createPermissions({ mode: 'minimal' });
    const [secure, plain] = [call('https://docs.example.com/a'), call('http://docs.example.com/b')];
    expect(permissions.suggest(plain)).toEqual([{ tool: 'web_fetch', host: 'http://docs.example.com' }]);
    for (const [remembered, other] of [
      [secure, plain],
      [plain, secure],
    ] as const) {
      // biome-ignore format: one line
      const rules = permissions.suggest(remembered);
      expect(permissions.decide({ ...remembered, rules })).toBe('allow');
      expect(permissions.decide({ ...other, rules })).toBe('ask');
    }
    const denied = createPermissions({ mode: 'full-access', deny: [{ tool: 'web_fetch', host: 'http://docs.example.com' }] });
    expect(denied.decide(call('http://docs.example.com:8080/'))).toMatchObject({ deny: expect.stringContaining('deny rule') });
    expect(denied.decide(secure)).toBe('allow');
  });

  test('deny a host with any port, and the rule says which', () => {
    const permissions = createPermissions({ mode: 'full-access', deny: [{ tool: 'web_fetch', host: 'evil.test' }] });
    for (const url of ['https://evil.test/', 'http://evil.test:8080/', 'http://EVIL.test./'])
      expect(permissions.decide(call(url))).toEqual({ deny: 'blocked by deny rule (web_fetch: evil.test)' });
    expect(permissions.decide(call('https://good.test/'))).toBe('allow');
  });

  test.each(['', 'https://a.test', 'a.test/b', 'A.test', 'u@a.test', 'a.test:443x'])('refuse a rule with the host %j', (host) => {
    expect(() => createPermissions({ allow: [{ tool: 'web_fetch', host }] })).toThrow('host');
  });
});
