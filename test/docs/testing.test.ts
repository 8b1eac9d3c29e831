import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as server from '../../src/testing/model-server';
import { compile } from '../support/compile';

const page = readFileSync(join(__dirname, '../../docs/testing.md'), 'utf8');
const shown = [...page.matchAll(/^```ts signature\n([\s\S]*?)^```$/gm)].map(([, code]) => code).join('\n');
const functions = [...shown.matchAll(/^function (\w+)/gm)].map(([, name]) => name!);
const types = [...shown.matchAll(/^(?:interface|type) (\w+)/gm)].map(([, name]) => name!);

test('the page on testing shows every function of the model server', () => {
  expect([...functions].sort()).toEqual(Object.keys(server).sort());
});

test('the signatures that it shows are those of the package', () => {
  expect(types.length).toBeGreaterThan(5);
  const same = [
    ...functions.map((name) => `Same<typeof ${name}, typeof real.${name}>`),
    ...types.map((name) => `Same<${name}, real.${name}>`),
  ];
  const code = `import type { IncomingMessage } from 'node:http';
import type * as real from 'longhaul/testing';
import type { BodyReply, Reply, StreamReply, WireMessage, WireRequest } from 'longhaul/testing';
${shown.replaceAll(/^function/gm, 'declare function')}
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : 'not the same';
${same.map((check) => `true satisfies ${check};`).join('\n')}
export {};
`;
  expect(compile(new Map([['signatures.mts', code]]))).toBe('');
});
