import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const task =
  'The test of this small invoice module fails. Find out why, fix the module (not the test), verify it with "node --test --test-reporter=spec", and then publish it with "node publish.js".';

const broken = `// The total of an invoice, in cents.
function total(items, discountPercent = 0) {
  const sum = items.reduce((cents, item) => cents + item.cents, 0);
  return Math.round(sum * (1 - discountPercent / 100));
}

module.exports = { total };
`;

/** The fix that the scripted model writes; a real model writes its own. */
export const fixed = broken.replace('cents + item.cents', 'cents + item.cents * (item.quantity ?? 1)');

const test = `const test = require('node:test');
const assert = require('node:assert');
const { total } = require('./invoice');

test('an item counts as often as it was bought', () => {
  assert.strictEqual(total([{ cents: 250, quantity: 4 }, { cents: 999 }]), 1999);
});

test('a discount is taken off the whole', () => {
  assert.strictEqual(total([{ cents: 1000, quantity: 3 }], 10), 2700);
});
`;

const publish = `// Represents an action that can't be undone: every run appends a line.
const { appendFileSync } = require('node:fs');
appendFileSync('published.log', new Date().toISOString() + '\\n');
console.log('published invoice 1.0.1');
`;

export interface Project {
  folder: string;
  /** How often publish.js has run. */
  published(): number;
  remove(): void;
}

/** Creates a small program that has a real bug, with a test that fails because of it. */
export function createProject(): Project {
  const folder = mkdtempSync(join(tmpdir(), 'longhaul-demo-'));
  const files = {
    'package.json': '{ "name": "invoice", "version": "1.0.1", "private": true }\n',
    'invoice.js': broken,
    'invoice.test.js': test,
    'publish.js': publish,
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return {
    folder,
    published() {
      try {
        return readFileSync(join(folder, 'published.log'), 'utf8').split('\n').filter(Boolean).length;
      } catch {
        return 0;
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
