import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { LonghaulClient } from '../../src/client';
import { type BadLine, startProxy } from '../../storm/proxy';
import { until } from '../support/rig';

/** A server that says everything back. */
let echo: Server;
let line: BadLine;
const served = new Set<Socket>();
const opened: Socket[] = [];

beforeEach(async () => {
  echo = createServer((socket) => {
    served.add(socket);
    socket.on('close', () => served.delete(socket));
    socket.on('error', () => undefined);
    socket.pipe(socket);
  });
  await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve));
  line = await startProxy((echo.address() as AddressInfo).port);
});

afterEach(async () => {
  for (const socket of opened.splice(0)) socket.destroy();
  await line.stop();
  for (const socket of served) socket.destroy();
  await new Promise((resolve) => echo.close(resolve));
});

function open() {
  const socket = connect(line.port, '127.0.0.1');
  opened.push(socket);
  const told = { text: '', over: '' };
  socket.on('data', (chunk) => {
    told.text += chunk;
  });
  socket.on('error', (error: NodeJS.ErrnoException) => {
    told.over = error.code ?? 'error';
  });
  socket.on('close', () => {
    told.over ||= 'closed';
  });
  return { socket, told };
}

async function spoken(words = 'hello ') {
  const one = open();
  one.socket.write(words);
  await until(
    () => one.told.text,
    (text) => text === words,
  );
  return one;
}

const quiet = (ms = 300) => new Promise((resolve) => setTimeout(resolve, ms));

test('a healthy proxy forwards everything both ways, including the end', async () => {
  const { socket, told } = await spoken();
  socket.end('bye');
  await until(
    () => told,
    ({ text, over }) => text === 'hello bye' && over === 'closed',
  );
  await until(
    () => line.connections(),
    (n) => n === 0,
  );
});

test('a proxy with delay forwards everything later, in order', async () => {
  const { socket, told } = await spoken('');
  line.disturb('delay', 200);
  const began = Date.now();
  for (const word of ['a', 'b', 'c']) socket.write(word);
  await until(
    () => told.text,
    (text) => text === 'abc',
  );
  expect(Date.now() - began).toBeGreaterThanOrEqual(390);
});

test('a proxy with hold forwards nothing until heal, and then everything', async () => {
  const { socket, told } = await spoken();
  line.disturb('hold');
  socket.write('again');
  await quiet();
  expect(told).toEqual({ text: 'hello ', over: '' });
  line.heal();
  await until(
    () => told.text,
    (text) => text === 'hello again',
  );
});

test('a proxy with drop drops bytes silently; open connections stay dead, and new ones work after heal', async () => {
  const { socket, told } = await spoken();
  line.disturb('drop');
  const late = open();
  late.socket.write('x');
  socket.write('again');
  await quiet();
  line.heal();
  await spoken('new');
  expect(told).toEqual({ text: 'hello ', over: '' });
  expect(late.told).toEqual({ text: '', over: '' });
});

test('a proxy with cut resets open connections, and accepts new ones', async () => {
  const { told } = await spoken();
  line.disturb('cut');
  await until(
    () => told.over,
    (over) => over === 'ECONNRESET',
  );
  await spoken('new');
});

test('a half-open proxy closes the far side and does not notify the near one', async () => {
  const { socket, told } = await spoken();
  line.disturb('half-open');
  await until(
    () => served.size,
    (n) => n === 0,
  );
  socket.write('anyone?');
  await quiet();
  expect(told).toEqual({ text: 'hello ', over: '' });
  await spoken('new');
});

test('a proxy with refuse also resets new connections, until heal', async () => {
  const { told } = await spoken();
  line.disturb('refuse');
  await until(
    () => told.over,
    (over) => over === 'ECONNRESET',
  );
  const late = open();
  await until(() => late.told.over, Boolean);
  line.heal();
  await spoken('new');
});

test('a client behind a proxy that drops every byte from the start reports within seconds that the server is unreachable', async () => {
  line.disturb('drop');
  await expect(LonghaulClient.connect({ connection: { address: line.address } })).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringContaining(line.address),
  });
});
