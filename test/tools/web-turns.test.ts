import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync } from 'node:zlib';
import { readableText } from '../../src/tools/web/readable-text';
import { createWebFetch } from '../../src/tools/web/web-fetch';
import { run } from './tool-host';

const closing: (() => void)[] = [];

afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** A server whose pages below `/slow` have sent their beginning only, until they are ended; all others are complete at once. */
async function serve() {
  const slow: ServerResponse[] = [];
  const listener: RequestListener = (request, response) => {
    const isCompressed = request.url?.endsWith('.br');
    response.writeHead(200, { 'content-type': 'text/html', ...(isCompressed && { 'content-encoding': 'br' }) });
    if (!request.url?.startsWith('/slow')) return response.end(isCompressed ? brotliCompressSync('<p>whole') : '<p>whole');
    response.write('<p>begun ');
    slow.push(response);
  };
  const server = createServer(listener);
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const tool = createWebFetch({ privateHosts: [host], approval: 'never' });
  const open = new Set<string>();
  /** `isOpen` tells whether the call still runs. */
  const fetchFor = (threadId: string, path: string) => {
    const name = `${threadId} ${path}`;
    open.add(name);
    const ended = run(tool, { url: `http://${host}${path}` }, { threadId }).then(({ outcome }) => {
      open.delete(name);
      return outcome;
    });
    return { ended, isOpen: () => open.has(name) };
  };
  /** Other requests, one after another: a call that could end would have ended since. */
  const longEnough = async () => {
    for (let at = 0; at < 10; at += 1) await (await fetch(`http://${host}/other`)).text();
  };
  const untilSlow = async (count: number) => {
    while (slow.length < count) await new Promise(setImmediate);
  };
  return { slow, fetchFor, untilSlow, longEnough };
}

test('two pages of one thread are held at a time, and eight of all; others wait until one of them is done', async () => {
  const { slow, fetchFor, untilSlow, longEnough } = await serve();
  const held: ReturnType<typeof fetchFor>[] = [];
  for (const [at, thread] of ['a', 'b', 'c', 'd'].entries()) {
    for (const path of ['/slow1', '/slow2']) held.push(fetchFor(thread, path));
    await untilSlow(2 * at + 2);
    if (at === 0) {
      // Another thread is not held up by two slow pages of this one.
      const [own, other] = [fetchFor('a', '/own'), fetchFor('b', '/other')];
      expect(await other.ended).toMatchObject({ status: 'success' });
      expect(own.isOpen()).toBe(true);
      slow[0]?.end();
      expect(await own.ended).toMatchObject({ status: 'success', content: expect.stringMatching(/whole$/) });
      held.shift();
      held.push(fetchFor('a', '/slow3'));
      await untilSlow(3);
      slow.shift();
    }
  }
  expect(held.filter(({ isOpen }) => isOpen())).toHaveLength(8);
  const late = fetchFor('e', '/late');
  await longEnough();
  expect(late.isOpen()).toBe(true);
  slow[0]?.end();
  expect(await late.ended).toMatchObject({ status: 'success' });
  for (const response of slow) response.end();
  await Promise.all(held.map(({ ended }) => ended));
}, 30_000);

test.each(['/slow3', '/slow3.br'])('a connection that breaks while %s waits for its turn is a failure of that call', async (path) => {
  const { slow, fetchFor, untilSlow, longEnough } = await serve();
  const held = [fetchFor('a', '/slow1'), fetchFor('a', '/slow2')];
  await untilSlow(2);
  const waiting = fetchFor('a', path);
  await untilSlow(3);
  slow[2]?.socket?.resetAndDestroy();
  await longEnough();
  expect(waiting.isOpen()).toBe(true);
  for (const response of slow) response.end();
  expect(await waiting.ended).toMatchObject({ status: 'failed', content: expect.stringContaining('the connection failed (ECONNRESET)') });
  for (const { ended } of held) expect(await ended).toMatchObject({ status: 'success' });
});

test('a description of an image is cut, and a link with a long address is text only', async () => {
  const page = `<p>a<img alt=" ${'x '.repeat(1_900_000)}"> <a href="/${'y'.repeat(3_000_000)}">link</a> <img alt=" short "><img alt=" "> <a href="/z">z</a>`;
  const { text } = await readableText(page, new URL('https://example.com/'));
  expect(text).toMatch(/^a\[image: (?:x ){499}x…\] link \[image: short\] z \(https:\/\/example\.com\/z\)$/);
});
