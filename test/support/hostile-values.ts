import fc from 'fast-check';

const half = '\uD83D';
const texts = [
  '',
  ' ',
  half,
  `cut ${half}`,
  `\uDC00${half}`,
  '\u0000',
  'a\u0000b',
  '\u202Eright to left',
  '__proto__',
  'constructor',
  'toString',
  '一'.repeat(700),
  '一'.repeat(2_100),
  'n'.repeat(256),
  'n'.repeat(2_049),
  'n'.repeat(25_000),
  '"'.repeat(300_000),
  '\u0001'.repeat(260_000),
  'x'.repeat(1_450_000),
  '<script>|`*_[]</script>\n\n```\n# x',
  '1e400',
  '{"a":',
  '[',
];

export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...texts) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }) },
  {
    weight: 1,
    arbitrary: fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)), maxLength: 39 }),
  },
);

/** JSON as bytes, as any program may send it, including JSON that no serializer would write. */
const rawJson = [
  '1e400',
  '-0',
  '{"__proto__":{"a":1}}',
  '"\\ud83d"',
  '{"reason":"\\ud83d","\\ud83d":1}',
  `${'['.repeat(10_000)}${']'.repeat(10_000)}`,
  `${'{"a":'.repeat(2_000)}1${'}'.repeat(2_000)}`,
  `${'['.repeat(90)}${']'.repeat(90)}`,
  `[${Array.from({ length: 100_000 }, () => 0).join()}]`,
  `{"${'k'.repeat(1_000_000)}":1}`,
  '{"reason": tru',
  '',
  '\u0000',
  'NaN',
];

export const hostileJson: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: hostileText },
  {
    weight: 3,
    arbitrary: fc.constantFrom<unknown>(
      null,
      true,
      0,
      -1,
      1e308,
      0.1,
      [],
      {},
      [[]],
      { __proto__: null },
      ['a', 1],
      Number.MAX_SAFE_INTEGER,
    ),
  },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
  { weight: 2, arbitrary: fc.constantFrom(...rawJson).map((text) => ({ raw: text })) },
);

/** The bytes of a JSON payload of such a value. */
export function bytesOfHostile(value: unknown): Buffer {
  const raw = (value as { raw?: unknown } | null)?.raw;
  return Buffer.from(typeof raw === 'string' ? raw : (JSON.stringify(value) ?? 'null'));
}

export interface Odd {
  what: string;
  value: () => unknown;
}

/** Values that only code can supply: returned or thrown by tools, hooks, instructions and approval rules. */
const odd: Record<string, () => unknown> = {
  undefined: () => undefined,
  bigint: () => 10n,
  symbol: () => Symbol('odd'),
  function: () => () => 1,
  NaN: () => Number.NaN,
  Infinity: () => ({ deadlineMs: Number.POSITIVE_INFINITY, approvers: Number.NaN, ttlMs: -1 }),
  'an invalid date': () => new Date(Number.NaN),
  'a date out of range': () => ({ dueAt: 1e300, deadlineMs: 1e300 }),
  'a circle': () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    return circle;
  },
  deep: () => Array.from({ length: 10_000 }).reduce<unknown>((inner) => [inner], 1),
  'a proxy that refuses': () =>
    new Proxy({}, Object.fromEntries(['get', 'has', 'ownKeys', 'getPrototypeOf'].map((trap) => [trap, refuse]))),
  'a getter that throws': () => Object.defineProperty({}, 'message', { get: refuse, enumerable: true }),
  'toJSON that throws': () => ({ toJSON: refuse }),
  'a map': () => new Map([['a', 1]]),
  bytes: () => Buffer.alloc(3_000_000, 1),
  '5 MB': () => 'é'.repeat(2_500_000),
  'quotes that JSON escapes': () => '"'.repeat(1_000_000),
  '100,000 parts': () => Array.from({ length: 100_000 }, () => ({ type: 'text', text: '' })),
  'a part with more': () => [{ type: 'text', text: 'x', more: 'y'.repeat(3_000_000) }],
  'an image of 4 MB': () => [{ type: 'image', url: `data:image/png;base64,${'A'.repeat(4_000_000)}` }],
  'half a character': () => new Error(`cannot read: ${half}`),
  'names of all kinds': () => ({ users: ['a'.repeat(3_000), half, '\u0000'], groups: Array.from({ length: 10_000 }, (_, i) => `g${i}`) }),
  'a policy of names': () => ({ reason: half, users: ['一'.repeat(190), '\u0000'], groups: ['__proto__'], deadlineMs: 1 }),
  'a very long reason': () => ({ reason: 'r'.repeat(5_000_000) }),
  'an answer for every hook': () => ({
    approved: true,
    reason: half,
    model: 'm'.repeat(200),
    instructions: '\u0001'.repeat(100),
    text: 'x'.repeat(700_000),
    content: '"'.repeat(600_000),
    mockResult: [],
    args: { __proto__: 1 },
  }),
  'another model': () => ({ model: '一'.repeat(200) }),
};

export const hostileValue: fc.Arbitrary<Odd> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...Object.entries(odd)).map(([what, value]) => ({ what, value })) },
  { weight: 1, arbitrary: hostileJson.map((value) => ({ what: JSON.stringify(value).slice(0, 60), value: () => value })) },
);

function refuse(): never {
  throw new Error('refused');
}
