import { randomBytes } from 'node:crypto';
import type { ArtifactStore } from '../../src/artifacts';
import { Artifacts } from '../../src/artifacts';
import { outputKeys } from '../../src/encoding/encoding';
import { keys, newKey } from '../encoding/keys';

/**
 * What each implementation of `ArtifactStore` must do. `open` opens the same storage again at each call, as further processes would. `clockMs`: how far
 * apart two times must be for the storage to tell them apart.
 */
export function describeStore(name: string, open: () => ArtifactStore, { clockMs = 30 } = {}): void {
  const never = new AbortController().signal;
  const idOf = (fill: string) => fill.repeat(32);

  describe(`${name} as a store of artifacts`, () => {
    test('returns exactly the bytes that were stored, also empty ones', async () => {
      const store = open();
      for (const [id, bytes] of [
        [idOf('1'), Buffer.from('héllo\n')],
        [idOf('2'), Buffer.alloc(0)],
        [idOf('3'), randomBytes(3_000_000)],
      ] as const) {
        await store.put({ threadId: 'a', id, bytes }, never);
        expect(Buffer.from((await open().get({ threadId: 'a', id }, never)) ?? 'missing').equals(bytes)).toBe(true);
      }
    });

    test('replaces other bytes of the same length under an id, which are damaged', async () => {
      const store = open();
      for (const text of ['damaged', 'correct']) await store.put({ threadId: 'a', id: idOf('9'), bytes: Buffer.from(text) }, never);
      expect(Buffer.from((await store.get({ threadId: 'a', id: idOf('9') }, never)) ?? []).toString()).toBe('correct');
    });

    test('does not have what was never stored', async () => {
      expect(await open().get({ threadId: 'nobody', id: idOf('1') }, never)).toBeUndefined();
    });

    test('keeps threads apart: one can not read what only another stored', async () => {
      const store = open();
      await store.put({ threadId: 'mine', id: idOf('4'), bytes: Buffer.from('secret') }, never);
      expect(await store.get({ threadId: 'theirs', id: idOf('4') }, never)).toBeUndefined();
      expect(await store.get({ threadId: 'mine/../mine', id: idOf('4') }, never)).toBeUndefined();
    });

    test('takes ids of threads with any characters', async () => {
      const store = open();
      const ids = ['../../etc', 'a/b', 'a\\b', 'CON', 'x'.repeat(300), "o'hara; drop table", '漢字 😀'];
      for (const [at, threadId] of ids.entries()) await store.put({ threadId, id: idOf('5'), bytes: Buffer.from([at]) }, never);
      for (const threadId of ids) {
        expect(await store.get({ threadId, id: idOf('5') }, never)).toBeDefined();
        await store.deleteThread(threadId);
        expect(await store.get({ threadId, id: idOf('5') }, never)).toBeUndefined();
      }
    });

    test('the same content may be stored many times at once, by several processes and threads', async () => {
      const bytes = randomBytes(200_000);
      const threads = ['t1', 't2', 't3'];
      const puts = Array.from({ length: 30 }, (_, at) => open().put({ threadId: threads[at % 3] as string, id: idOf('6'), bytes }, never));
      await Promise.all(puts);
      for (const threadId of threads) expect((await open().get({ threadId, id: idOf('6') }, never))?.length).toBe(200_000);
    });

    test('content lives as long as one thread refers to it', async () => {
      const store = open();
      const bytes = Buffer.from('shared');
      for (const threadId of ['first', 'second']) await store.put({ threadId, id: idOf('7'), bytes }, never);
      await store.deleteThread('first');
      expect(await store.get({ threadId: 'first', id: idOf('7') }, never)).toBeUndefined();
      expect(await store.get({ threadId: 'second', id: idOf('7') }, never)).toBeDefined();
      await store.deleteThread('second');
      expect(await store.get({ threadId: 'second', id: idOf('7') }, never)).toBeUndefined();
    });

    test('a thread whose artifacts are deleted may store them again, and deleting nothing is no error', async () => {
      const store = open();
      await store.deleteThread('unknown');
      const artifact = { threadId: 'again', id: idOf('8'), bytes: Buffer.from('x') };
      await store.put(artifact, never);
      await store.deleteThread('again');
      await store.put(artifact, never);
      expect(await store.get(artifact, never)).toBeDefined();
    });

    test('content that one thread stores while another deletes it stays readable', async () => {
      const bytes = Buffer.from('contested');
      const [keeps, leaves] = [open(), open()];
      for (let round = 0; round < 20; round += 1) {
        const id = idOf('9');
        await leaves.put({ threadId: 'leaves', id, bytes }, never);
        await Promise.all([keeps.put({ threadId: `keeps-${round}`, id, bytes }, never), leaves.deleteThread('leaves')]);
        expect(await keeps.get({ threadId: `keeps-${round}`, id }, never)).toBeDefined();
        await keeps.deleteThread(`keeps-${round}`);
      }
    });

    test('deletes the artifacts of threads that have stored nothing since a time, and only theirs', async () => {
      const store = open();
      await store.deleteUnusedSince(new Date(Date.now() + 10_000));
      for (const threadId of ['old', 'used']) await store.put({ threadId, id: idOf('a'), bytes: Buffer.from('x') }, never);
      await new Promise((next) => setTimeout(next, clockMs));
      const time = new Date();
      await new Promise((next) => setTimeout(next, clockMs));
      await store.put({ threadId: 'used', id: idOf('a'), bytes: Buffer.from('x') }, never);
      expect(await store.deleteUnusedSince(time)).toBe(1);
      expect(await store.get({ threadId: 'old', id: idOf('a') }, never)).toBeUndefined();
      expect(await store.get({ threadId: 'used', id: idOf('a') }, never)).toBeDefined();
    });

    test('serves the engine: what is kept is read back under its hash', async () => {
      const artifacts = new Artifacts(open());
      const ref = await artifacts.keep('engine', Buffer.from('one\ntwo'), 'text/plain');
      expect(ref).toMatchObject({ bytes: 7, lines: 2, mediaType: 'text/plain' });
      expect((await artifacts.read('engine', ref?.id ?? '')).toString()).toBe('one\ntwo');
    });

    test('serves the engine with encryption: it gets no byte of the content, and returns what can be decrypted', async () => {
      const store = open();
      const artifacts = new Artifacts(store, undefined, outputKeys({ keys: keys(newKey()) }));
      const ref = await artifacts.keep('sealed', Buffer.from('a planted word'), 'text/plain');
      const stored = Buffer.from((await store.get({ threadId: 'sealed', id: ref?.id ?? '' }, never)) ?? '');
      expect(stored.length).toBeGreaterThan(14);
      expect(stored.includes('planted')).toBe(false);
      expect((await artifacts.read('sealed', ref?.id ?? '')).toString()).toBe('a planted word');
    });
  });
}
