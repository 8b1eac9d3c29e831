import { Client } from '@temporalio/client';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { defineAgent } from '../../src/agents';
import { LonghaulClient } from '../../src/client';
import type { EphemeralEvent } from '../../src/core/event';
import { cut, say, slowly } from '../../src/testing/model-server';
import { collect, type Rig, startRig, until } from '../support/rig';
import { scenes } from '../workflows/scenes';

const { script, scene } = scenes();
const agent = defineAgent({ name: 'talker', model: 'test-model', instructions: 'Talk.' });
const text = Array.from({ length: 60 }, (_, i) => `word${i}`).join(' ');
const slow = slowly(say(text), { chunkMs: 60, chunkSize: 10 });

type Delta = EphemeralEvent<'thread.message.delta'>['data'];
const deltasOf = (events: readonly { type: string; data: unknown }[]) =>
  events.flatMap(({ type, data }) => (type === 'thread.message.delta' ? [data as Delta] : []));

let near: Rig;
let far: Rig;
beforeAll(async () => {
  near = await startRig({ script, agents: [agent], bus: true });
  far = await startRig({ script, agents: [agent], worker: { liveTextMs: 300 } });
});

test('a late reader in the process of the worker gets the text so far and then each piece', async () => {
  const thread = await near.client.start(agent, scene([slow]));
  const first: { type: string; data: unknown }[] = [];
  const reading = (async () => {
    for await (const event of thread.events()) first.push(event);
  })();
  await until(
    () => deltasOf(first).length,
    (n) => n >= 5,
  );
  const late = await collect(thread.events());
  const reconnected = deltasOf(late);
  await reading;
  const [snapshot, ...pieces] = reconnected;
  expect(snapshot).toMatchObject({ snapshot: true, attempt: 1 });
  expect(snapshot?.contentChunk?.length).toBeGreaterThanOrEqual(40);
  expect(pieces.every((piece) => piece.snapshot === undefined)).toBe(true);
  expect([snapshot, ...pieces].map((piece) => piece?.contentChunk).join('')).toBe(text);
  const types = late.map(({ type }) => type);
  expect(types.indexOf('thread.message.delta')).toBeGreaterThan(types.lastIndexOf('thread.message.created'));
});

/** A codec for encrypted threads, with which the client decodes data. This one changes only one word and leaves other data unchanged. */
const codec: PayloadCodec = {
  encode: async (payloads) => payloads,
  decode: async (payloads) => payloads.map(decoded),
};

function decoded(payload: Payload): Payload {
  if (!payload.data) return payload;
  return { ...payload, data: new TextEncoder().encode(new TextDecoder().decode(payload.data).replaceAll('word', 'WORD')) };
}

test("live text from heartbeats is decoded with the client's own codec", async () => {
  const { connection, options } = far.client.temporal;
  const temporal = new Client({ connection, namespace: options.namespace, dataConverter: { payloadCodecs: [codec] } });
  const client = new LonghaulClient(temporal, { taskQueue: far.taskQueue });
  const thread = await client.start(agent, scene([slow]));
  const texts = deltasOf(await collect(thread.events()));
  expect(texts.length).toBeGreaterThanOrEqual(3);
  for (const { contentChunk, snapshot } of texts) {
    expect(snapshot).toBe(true);
    expect(contentChunk).toMatch(/^WORD0/);
  }
});

test('the first event of a second attempt that a reader in another process gets says that the answer begins again', async () => {
  const lost = slowly(cut(text), { chunkMs: 60, chunkSize: 10 });
  const thread = await far.client.start(agent, scene([lost, slow]));
  const deltas = deltasOf(await collect(thread.events()));
  const [before, [first, ...more]] = [deltas.filter(({ attempt }) => attempt === 1), deltas.filter(({ attempt }) => attempt === 2)];
  expect(before.length).toBeGreaterThan(0);
  expect(first).toMatchObject({ index: 0, restart: true, snapshot: true });
  expect(more.length).toBeGreaterThan(0);
  for (const { restart } of [...before, ...more]) expect(restart).toBeUndefined();
});
