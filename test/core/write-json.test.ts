import fc from 'fast-check';
import { bounds } from '../../src/core/bounds';
import { boundedContent, writeJson } from '../../src/core/write-json';

const anything = fc.anything({
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withSet: true,
  withTypedArray: true,
  withSparseArray: true,
  withNullPrototype: true,
  stringUnit: 'binary',
});

test('a value that fits is written as JSON.stringify writes it', () => {
  fc.assert(
    fc.property(anything, (value) => {
      expect(writeJson(value, 1_000_000)?.text).toBe(JSON.stringify(value));
    }),
  );
});

test('a value that does not fit is cut, with a note', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat({ max: 50 }), (value, max) => {
      const whole = JSON.stringify(value);
      const isCut = whole.length > max;
      const written = writeJson(value, max);
      expect(written?.isCut).toBe(isCut);
      expect(whole.startsWith(written?.text ?? '?')).toBe(true);
      expect(written?.text.length).toBeLessThanOrEqual(max);
    }),
  );
});

describe('no more is read than is written', () => {
  const rowsRead = (max: number, length: number) => {
    let read = 0;
    const row = { toJSON: () => ++read };
    const written = writeJson(Array(length).fill(row), max);
    return { read, written };
  };

  test('of a list of ten million rows', () => {
    const { read, written } = rowsRead(1_000, 10_000_000);
    expect(written).toMatchObject({ isCut: true });
    expect(read).toBeLessThan(1_000);
  });

  test('of bytes, which would otherwise become a list of numbers', () => {
    const bytes = Buffer.alloc(1_000, 7);
    const toJSON = jest.spyOn(Buffer.prototype, 'toJSON');
    expect(writeJson(bytes, 100)?.text).toMatch(/^\{"type":"Buffer","data":\[7,7,/);
    expect(toJSON.mock.contexts.map((context) => (context as unknown as Buffer).length)).toEqual([101]);
    toJSON.mockRestore();
  });

  test('of an object that differs at each access', () => {
    const again = (): object => ({ toJSON: () => ({ again: again(), more: again() }) });
    expect(() => writeJson(again(), 1_000_000)).toThrow('nested deeper than 1000 levels');
  });
});

test('a value that is too deep, contains itself or throws when it is read is a failure', () => {
  let deep: object = {};
  for (let i = 0; i < 1_000_000; i++) deep = { deep };
  expect(() => writeJson(deep, 1_000_000)).toThrow(RangeError);
  const circle: { self?: object } = {};
  circle.self = circle;
  expect(() => writeJson(circle, 1_000_000)).toThrow(/circular/);
  expect(() => writeJson({ n: 1n }, 100)).toThrow(TypeError);
  const refusing = {
    get a() {
      throw new Error('not now');
    },
  };
  expect(() => writeJson(refusing, 100)).toThrow('not now');
});

test('the content of a result that is too long says how much is missing', () => {
  const content = boundedContent(Array(1_000_000).fill('row')) as string;
  expect(content).toMatch(/^\["row","row",/);
  expect(content).toMatch(/\[\.\.\. the rest left out: it has more than 250000 characters of JSON \.\.\.\]$/);
  expect(content.length).toBeLessThan(bounds.outputChars + 100);
  expect(boundedContent(Array(10_000).fill({ type: 'text', text: 'a' }))).toHaveLength(501);
  expect(boundedContent(undefined)).toBe('null');
});
