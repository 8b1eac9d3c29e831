import { isObject } from '../core/json';

type Schema = Record<string, unknown>;

/** Numbers from 0 to below 1. */
export type Random = () => number;

/** A generator whose numbers the seed repeats (mulberry32). */
export function seeded(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const deepest = 5;
/** A schema that refers to itself several times would otherwise make values that grow exponentially with their depth. */
const mostValues = 2_000;

/** Texts that programs tend to mishandle. None of them does harm as a command, a query or a path that is only read. */
const texts = [
  '',
  ' ',
  'a',
  '0',
  '-1',
  'null',
  'true',
  'NaN',
  '-x',
  '--help',
  '.',
  '..',
  '../../etc/hostname',
  '/etc/hostname',
  '~',
  '%00',
  'a\u0000b',
  'line\nline',
  '\ud83d',
  '😀',
  '\u202etxt.exe',
  'e\u0301',
  '__proto__',
  'constructor',
  '$(echo a)',
  "' OR 1=1 --",
  '<b>&amp;</b>',
  'https://',
  'http://127.0.0.1:1/',
  '2026-02-30',
  '{"a":1}',
  'x'.repeat(100_000),
];
const numbers = [0, -1, 1, 0.5, 1e21, 1e308, 2 ** 31, 2 ** 53, -(2 ** 53)];

/** The arguments of a call as a model could write them that has misread the schema, or writes broken JSON. */
export function confusedArguments(schema: unknown, random: Random): string {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const chance = (probability: number) => random() < probability;
  const root = isObject(schema) ? schema : {};
  let values = 0;

  function valueFor(given: unknown, depth: number): unknown {
    if (++values > mostValues) return pick([null, 0, '']);
    const asked = resolve(root, given);
    if (chance(0.12)) return anything(depth);
    if ('const' in asked) return asked.const;
    if (Array.isArray(asked.enum) && asked.enum.length > 0) return pick(asked.enum);
    const choices = [asked.anyOf, asked.oneOf].find(Array.isArray);
    if (choices && choices.length > 0) return valueFor(pick(choices), depth + 1);
    const type = Array.isArray(asked.type) ? pick(asked.type) : (asked.type ?? (asked.properties ? 'object' : 'string'));
    switch (type) {
      case 'object':
        return objectOf(asked, depth);
      case 'array':
        return depth > deepest ? [] : Array.from({ length: pick([0, 1, 1, 2, 3]) }, () => valueFor(asked.items, depth + 1));
      case 'integer':
      case 'number':
        return numberOf(asked, type === 'integer');
      case 'boolean':
        return chance(0.5);
      case 'null':
        return null;
      default:
        return pick(texts);
    }
  }

  function objectOf({ properties, required }: Schema, depth: number): object {
    const needed: unknown[] = Array.isArray(required) ? required : [];
    const entries = Object.entries(isObject(properties) ? properties : {})
      .filter(([name]) => depth <= deepest && (needed.includes(name) ? chance(0.95) : chance(0.5)))
      .map(([name, of]) => [chance(0.03) ? name.toUpperCase() : name, valueFor(of, depth + 1)]);
    if (chance(0.1)) entries.push([pick(['extra', 'constructor', '__proto__', '']), anything(depth)]);
    return Object.fromEntries(entries);
  }

  function numberOf({ minimum, maximum }: Schema, isInteger: boolean): number {
    const near = [minimum, maximum].filter((bound) => typeof bound === 'number').flatMap((bound) => [bound, bound - 1, bound + 1]);
    const value = pick([...numbers, ...near, ...near, Math.floor(random() * 100)]);
    return isInteger && !chance(0.1) ? Math.trunc(value) : value;
  }

  function anything(depth: number): unknown {
    const nested = depth > deepest ? 'x' : [anything(depth + 1)];
    return pick([null, true, [], {}, nested, { a: nested }, pick(numbers), pick(texts)]);
  }

  const text = JSON.stringify(valueFor(root, 0)) ?? 'null';
  return chance(0.15) ? pick(broken)(text, random) : text;
}

/** What models write instead of JSON. */
const broken: ((json: string, random: Random) => string)[] = [
  (json, random) => json.slice(0, Math.floor(random() * json.length)),
  (json) => JSON.stringify(json),
  (json) => `\`\`\`json\n${json}\n\`\`\``,
  (json) => json.replace(/"/g, "'"),
  (json) => json.replace(/}$/, ',}'),
  (json) => `${json}${json}`,
  () => '',
  () => '[]',
  () => `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
];

function resolve(root: Schema, given: unknown): Schema {
  let at: unknown = given;
  for (let hops = 0; hops < deepest && isObject(at) && typeof at.$ref === 'string'; hops++) {
    const steps = at.$ref.replace(/^#\/?/, '').split('/').filter(Boolean);
    at = steps.reduce<unknown>((value, step) => (isObject(value) ? value[step] : undefined), root);
  }
  return isObject(at) ? at : {};
}
