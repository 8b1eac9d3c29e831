import fc from 'fast-check';
import { isObject } from '../../../src/core/json';
import type { MockApi } from './mock-api';

const formats: Record<string, string> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  email: 'a@example.com',
  uri: 'https://example.com/a?b=c',
  url: 'https://example.com/a?b=c',
  uuid: '0b6f8f5e-8c1e-4f6b-9c3e-2b1a8f0d7c11',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  byte: 'aGk=',
  hostname: 'example.com',
  time: '12:00:00Z',
};

/** A value for a schema of a document, with characters that must be encoded where any text is allowed. It may still be invalid by rare keywords. */
export function sample(api: MockApi, given: any, depth = 0): unknown {
  const schema = api.follow(given);
  if (!isObject(schema)) return 'any';
  const {
    enum: choices,
    default: usual,
    example,
    type,
    format,
    properties,
    items,
    required,
    minLength,
    minimum,
    maximum,
    minItems,
  } = schema as any;
  const choice = choices?.find((one: unknown) => one !== null && one !== '');
  if ('const' in schema) return schema.const;
  if (choice !== undefined) return choice;
  if (example !== undefined && !isObject(example) && !Array.isArray(example)) return example;
  if (usual !== undefined && usual !== null && !isObject(usual) && !Array.isArray(usual) && usual !== '') return usual;
  if (Array.isArray(schema.allOf))
    return merged(
      schema.allOf.map((one: unknown) => sample(api, one, depth)),
      sampleObject(schema),
    );
  const alternative = (schema.oneOf ?? schema.anyOf) as unknown[] | undefined;
  if (alternative?.length) return merged([sample(api, alternative[0], depth)], sampleObject(schema));
  const kind = Array.isArray(type) ? type.find((one) => one !== 'null') : type;
  if (kind === 'object' || properties) return sampleObject(schema) ?? {};
  if (kind === 'array')
    return depth > 4 && !minItems ? [] : Array.from({ length: Math.max(1, minItems ?? 1) }, () => sample(api, items, depth + 1));
  if (kind === 'integer' || kind === 'number') return Math.min(Math.max(7, minimum ?? 7), maximum ?? Number.MAX_SAFE_INTEGER);
  if (kind === 'boolean') return true;
  if (typeof schema.pattern === 'string') return matching(schema.pattern);
  const text = formats[format] ?? 'a b&c=d/é';
  return text.padEnd(minLength ?? 0, 'x').slice(0, (schema as any).maxLength ?? undefined);

  function sampleObject({ properties: own }: any): Record<string, unknown> | undefined {
    if (!isObject(own)) return undefined;
    const names = Object.keys(own).filter((name) => {
      const property = api.follow(own[name]);
      return property?.readOnly !== true && property?.deprecated !== true && (required?.includes(name) || depth < 1);
    });
    return depth > 8 ? {} : JSON.parse(JSON.stringify(Object.fromEntries(names.map((name) => [name, sample(api, own[name], depth + 1)]))));
  }
}

function merged(parts: unknown[], more: unknown): unknown {
  const all = [...parts, more].filter((part) => part !== undefined);
  return all.every(isObject) ? Object.assign({}, ...all) : all[0];
}

function matching(pattern: string): unknown {
  try {
    return fc.sample(fc.stringMatching(new RegExp(pattern)), { numRuns: 1, seed: 1 })[0];
  } catch {
    // fast-check does not support all of the language.
    return undefined;
  }
}
