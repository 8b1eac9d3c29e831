import { fewAtOnce } from '../../src/tools/running/few-at-once';

/** Works that end when they are told to. */
function works(most: number, mostOfOne?: number) {
  const inTurn = fewAtOnce(most, mostOfOne);
  const running: { of: string; end(): void }[] = [];
  const begin = (of: string) => inTurn(() => new Promise<void>((end) => running.push({ of, end })), of);
  const names = () => running.map(({ of }) => of).join('');
  const endFirst = async () => {
    running.shift()?.end();
    await new Promise(setImmediate);
  };
  return { begin, names, endFirst };
}

test('few works run at a time, owners take turns, and their own works keep their order', async () => {
  const { begin, names, endFirst } = works(2);
  for (const of of 'aaaabc') void begin(of);
  expect(names()).toBe('aa');
  const seen: string[] = [];
  for (let ended = 0; ended < 6; ended += 1) {
    await endFirst();
    seen.push(names());
  }
  expect(seen).toEqual(['aa', 'ab', 'bc', 'ca', 'a', '']);
});

test('one owner does not take all places, and what waits for its own place holds up nobody', async () => {
  const { begin, names, endFirst } = works(3, 2);
  for (const of of 'aaaa') void begin(of);
  expect(names()).toBe('aa');
  void begin('b');
  expect(names()).toBe('aab');
  void begin('b');
  await endFirst();
  expect(names()).toBe('aba');
});

test('a work that fails makes room', async () => {
  const inTurn = fewAtOnce(1);
  const failed = inTurn(() => Promise.reject(new Error('first')));
  const next = inTurn(async () => 'next');
  await expect(failed).rejects.toThrow('first');
  expect(await next).toBe('next');
});
