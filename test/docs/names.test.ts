import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createProgram } from '../../src/cli/main';
import { formatNames } from '../../src/cli/views/format-names';
import { readConfig, usableVendors } from '../../src/config';
import type { RequestName } from '../../src/contract/requests';
import { limitNames } from '../../src/core/agent';
import { hookNames } from '../../src/core/hooks';
import { defaultModels } from '../../src/models/registry';

const page = (name: string) => readFileSync(join(__dirname, '../..', name), 'utf8');

test.each([
  ['hook', hookNames, ['docs/hooks.md']],
  ['limit', limitNames, ['docs/runs.md']],
  ['format', formatNames.filter((name) => name !== 'longhaul'), ['docs/cli.md', 'docs/projections.md']],
] as const)('each %s is on its page', (_, names, pages) => {
  for (const name of pages) {
    const text = page(name).toLowerCase();
    expect(names.filter((one) => !text.includes(one.toLowerCase()))).toEqual([]);
  }
});

describe('model vendors', () => {
  const keys = { OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k', GEMINI_API_KEY: 'k' };

  test('each vendor has a provider of its name, and a key that this test knows', () => {
    const vendors = usableVendors(readConfig(keys));
    expect(vendors).toHaveLength(Object.keys(keys).length);
    for (const vendor of vendors) expect(defaultModels().resolve(`${vendor}/m`).providerName).toBe(vendor);
  });

  test.each(Object.keys(keys))('%s is named wherever keys are', (key) => {
    const places = ['docs/models.md', 'docs/operations.md', 'docs/deployment.md', 'docker-compose.yml', 'src/cli/commands/dev.ts'];
    expect(places.filter((name) => !page(name).includes(key))).toEqual([]);
  });
});

/** The client's methods and the commands for each request. A request that is missing here fails to compile. */
const requests: Record<RequestName, { methods: string[]; commands: string[] }> = {
  cancel: { methods: ['cancel'], commands: ['cancel'] },
  sendMessage: { methods: ['send'], commands: ['send', 'reply'] },
  submitToolOutputs: { methods: ['submitToolOutputs'], commands: ['submit'] },
  approve: { methods: ['approve', 'reject', 'answer'], commands: ['approve', 'reject', 'answer'] },
  answerQuestion: { methods: ['answerQuestion'], commands: ['answer'] },
  settle: { methods: ['settle'], commands: ['settle'] },
  pause: { methods: ['pause'], commands: ['pause'] },
  resume: { methods: ['resume'], commands: ['resume'] },
  compact: { methods: ['compact'], commands: ['compact'] },
  close: { methods: ['close'], commands: ['close'] },
};

test('each request has its methods in the client, its commands, and a place in the docs', () => {
  const client = page('src/client/thread.ts');
  const commands = createProgram('0').commands.map((command) => command.name());
  const prose = ['docs/people.md', 'docs/conversations.md', 'docs/runs.md'].map(page).join('\n');
  for (const { methods, commands: own } of Object.values(requests)) {
    expect(methods.filter((method) => !new RegExp(`^  (async )?${method}\\(`, 'm').test(client))).toEqual([]);
    expect(own.filter((command) => !commands.includes(command) || !page('docs/cli.md').includes(command))).toEqual([]);
    expect(methods.filter((method) => !prose.includes(method))).toEqual([]);
  }
});

test('every file that the page for contributors names exists', () => {
  const named = [...page('docs/contributing.md').matchAll(/`((?:src|test|scripts|storm|bench|docs)\/[\w./-]+)`/g)].map(
    ([, path]) => path ?? '',
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((path) => !existsSync(join(__dirname, '../..', path)))).toEqual([]);
});
