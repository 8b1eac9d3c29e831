import { type ArtifactStore, Artifacts, memoryArtifacts } from '../../src/artifacts';
import { bounds } from '../../src/core/bounds';

const bytes = Buffer.from('some output');

function storeWith(parts: Partial<ArtifactStore>): ArtifactStore {
  return { ...memoryArtifacts(), ...parts };
}

const broken: [string, Partial<ArtifactStore>][] = [
  ['is full', { put: () => Promise.reject(new Error('no space left on device')) }],
  ['throws instead of rejecting', { put: () => { throw new TypeError('gone'); } }], // biome-ignore format: one line
  ['throws null', { put: () => Promise.reject(null) }],
];

describe('[B127] a store that does not work never fails a call', () => {
  test.each(broken)('one that %s', async (_, parts) => {
    const warnings: string[] = [];
    const artifacts = new Artifacts(storeWith(parts), (words) => warnings.push(words));
    expect(await artifacts.keep('t', bytes, 'text/plain')).toBeUndefined();
    expect(warnings).toEqual([expect.stringMatching(/^An output of 11 bytes could not be stored: ./)]);
  });

  test('one that never answers is given up after 5 s, and then left alone for a while', async () => {
    jest.useFakeTimers();
    try {
      let puts = 0;
      let aborted = false;
      const put: ArtifactStore['put'] = (_, signal) => {
        puts += 1;
        signal.addEventListener('abort', () => {
          aborted = true;
        });
        return new Promise(() => undefined);
      };
      const artifacts = new Artifacts(storeWith({ put }));
      const kept = artifacts.keep('t', bytes, 'text/plain');
      await jest.advanceTimersByTimeAsync(5_000);
      expect(await kept).toBeUndefined();
      expect(aborted).toBe(true);
      expect(await artifacts.keep('t', bytes, 'text/plain')).toBeUndefined();
      expect(puts).toBe(1);
      await jest.advanceTimersByTimeAsync(31_000);
      void artifacts.keep('t', bytes, 'text/plain');
      await jest.advanceTimersByTimeAsync(0);
      expect(puts).toBe(2);
      await jest.advanceTimersByTimeAsync(5_000);
    } finally {
      jest.useRealTimers();
    }
  });

  test('content that is larger than an artifact may be is not given to the store', async () => {
    const put = jest.fn();
    expect(await new Artifacts(storeWith({ put })).keep('t', Buffer.alloc(bounds.artifactBytes + 1), 'text/plain')).toBeUndefined();
    expect(put).not.toHaveBeenCalled();
  });
});

describe('reading', () => {
  test('bytes that differ from those that were stored are not returned', async () => {
    const artifacts = new Artifacts(storeWith({ get: async () => Buffer.from('other output') }));
    const ref = await artifacts.keep('t', bytes, 'text/plain');
    await expect(artifacts.read('t', ref?.id ?? '')).rejects.toThrow(`ref '${ref?.id}' is damaged`);
  });

  test.each(['', 'abc', '../../../etc/passwd', 'a'.repeat(1_000_000), 'f'.repeat(32)])(
    'a ref that no output has is not found',
    async (id) => {
      const error: Error = await new Artifacts(memoryArtifacts()).read('t', id).then(
        () => new Error('found'),
        (thrown) => thrown,
      );
      expect(error).toMatchObject({ name: 'ArtifactError' });
      expect(error.message).toContain('has no stored output with ref');
      expect(error.message.length).toBeLessThan(400);
    },
  );

  test('a store that is away is told apart from a missing output', async () => {
    const artifacts = new Artifacts(storeWith({ get: () => Promise.reject(new Error('connect ECONNREFUSED')) }));
    await expect(artifacts.read('t', 'f'.repeat(32))).rejects.toThrow("can't be read now: connect ECONNREFUSED. Try again later.");
  });
});

test.each([
  ['', 0],
  ['a', 1],
  ['a\n', 1],
  ['a\nb', 2],
  ['\n\n', 2],
])('lines of %j are counted', async (text, lines) => {
  expect(await new Artifacts(memoryArtifacts()).keep('t', Buffer.from(text), 'text/plain')).toMatchObject({ lines });
});
