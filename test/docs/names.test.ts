import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createProgram } from '../../src/cli/main';
import { type Format, formatNames } from '../../src/cli/views/format-names';
import { readConfig, usableVendors, type Vendor } from '../../src/config';
import type { RequestName } from '../../src/contract/requests';
import { limitNames } from '../../src/core/agent';
import { hookNames } from '../../src/core/hooks';
import { defaultModels } from '../../src/models/registry';
import * as projections from '../../src/projections';

const root = join(__dirname, '../..');
const page = (name: string) => readFileSync(join(root, name), 'utf8');

const lines = (name: string) => page(name).split('\n');

test('each hook has a row on its page', () => {
  const rows = [...page('docs/hooks.md').matchAll(/^\| `(\w+:\w+)` \|/gm)].map(([, name]) => name);
  expect(rows.sort()).toEqual([...hookNames].sort());
});

test('each limit is in the example of its page, and described there', () => {
  const [, example = ''] = /^ +limits: \{ (.*) \}, \/\/ of a run$/m.exec(page('docs/runs.md')) ?? [];
  expect([...example.matchAll(/(\w+):/g)].map(([, name]) => name)).toEqual(limitNames);
  const described = limitNames.filter((name) => page('docs/runs.md').includes(`\`${name}\``));
  expect(described).toEqual(limitNames);
});

describe('projections', () => {
  /** The names of the systems, by their folders in src/projections. */
  const systems = {
    agentb: 'AgentB',
    baseagent: 'BaseAgent',
    oneringai: 'OneRingAI',
    codelia: 'codelia',
  } satisfies Record<Exclude<Format, 'longhaul'>, string>;

  test('each system is in the first paragraph of its page, and in the README', () => {
    const folders = readdirSync(join(root, 'src/projections'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(folders.map(({ name }) => name).sort()).toEqual(Object.keys(systems).sort());
    const [, first = ''] = page('docs/projections.md').split('\n\n');
    const [row = ''] = lines('README.md').filter((line) => line.startsWith('| [docs/projections.md]'));
    expect(Object.values(systems).filter((name) => !first.includes(name) || !row.includes(name))).toEqual([]);
  });

  test('each format is where --format is described', () => {
    const described = (name: string) => lines(name).filter((line) => line.includes('--format '));
    for (const name of ['docs/cli.md', 'docs/projections.md']) {
      const words = new Set(described(name).join('\n').match(/\w+/g));
      expect(formatNames.filter((format) => !words.has(format))).toEqual([]);
    }
  });

  test('each function that the package exports is in the table', () => {
    const { project: _, StreamHelpers: __, ...functions } = projections;
    const cells = lines('docs/projections.md').flatMap((line) => (line.startsWith('| `') ? [line.split(' | ')[0] ?? ''] : []));
    const named = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)\(/g)].map(([, name]) => name));
    expect(named.sort()).toEqual(Object.keys(functions).sort());
  });
});

describe('model vendors', () => {
  /** A vendor that is missing here fails to compile. */
  const vendors: Record<Vendor, { key: string; name: string }> = {
    openai: { key: 'OPENAI_API_KEY', name: 'OpenAI' },
    anthropic: { key: 'ANTHROPIC_API_KEY', name: 'Anthropic' },
    google: { key: 'GEMINI_API_KEY', name: 'Gemini' },
  };

  test('each vendor is usable with its key, and has a provider of its name', () => {
    const usable = usableVendors(readConfig(Object.fromEntries(Object.values(vendors).map(({ key }) => [key, 'k']))));
    expect([...usable].sort()).toEqual(Object.keys(vendors).sort());
    for (const vendor of usable) expect(defaultModels().resolve(`${vendor}/m`).providerName).toBe(vendor);
  });

  test.each(Object.values(vendors))('$key is named wherever keys are', ({ key }) => {
    const prose = ['docs/models.md', 'docs/operations.md', 'docs/deployment.md', 'src/config.ts'];
    expect(prose.filter((name) => !page(name).includes(`\`${key}\``))).toEqual([]);
    const code = ['docker-compose.yml', 'src/cli/commands/dev.ts'];
    expect(code.filter((name) => !new RegExp(`\\b${key}\\b`).test(page(name)))).toEqual([]);
  });

  test.each(Object.entries(vendors))('%s is named wherever the built-in providers are', (vendor, { name }) => {
    const places = lines('README.md').filter((line) => /^- \*\*Loop\*\*|^\| \[docs\/providers\.md\]/.test(line));
    expect(places.map((line) => line.includes(name))).toEqual([true, true]);
    const tables = ['docs/models.md', 'docs/providers.md'];
    expect(tables.filter((table) => !lines(table).some((line) => line.startsWith(`| \`${vendor}\``)))).toEqual([]);
    expect(page('src/worker/create-worker.ts')).toMatch(new RegExp(`^   \\* .*\`${vendor}\``, 'm'));
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
  const described = new Set([...page('docs/cli.md').matchAll(/^\| (`.+?) \| /gm)].flatMap(([, cell = '']) => firstWords(cell)));
  const prose = ['docs/people.md', 'docs/conversations.md', 'docs/runs.md'].map(page).join('\n');
  for (const { methods, commands: own } of Object.values(requests)) {
    expect(methods.filter((method) => !new RegExp(`^  (async )?${method}\\(`, 'm').test(client))).toEqual([]);
    expect(own.filter((command) => !commands.includes(command) || !described.has(command))).toEqual([]);
    expect(methods.filter((method) => !new RegExp(`\\bthread\\.${method}\\(|\`${method}\``).test(prose))).toEqual([]);
  }
});

/** The commands of a cell such as `pause THREAD`, `resume THREAD`. */
function firstWords(cell: string): string[] {
  return [...cell.matchAll(/`(\w+)/g)].map(([, word = '']) => word);
}

describe('the page for contributors', () => {
  const text = page('docs/contributing.md');
  const file = '`((?:src|test|scripts|storm|bench|docs)\\/[\\w./-]+)`';

  test('names files that exist', () => {
    const named = [...text.matchAll(new RegExp(file, 'g'))].map(([, path]) => path ?? '');
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  test('names what is in these files, where it says `name` in `file` or `name` (`file`)', () => {
    const named = [...text.matchAll(new RegExp(`((?:\`[^\`\\s/]+\`(?:, | and | or )?)+) (?:in |\\()${file}`, 'g'))].flatMap(
      ([, names = '', path = '']) => firstWords(names).map((name) => ({ name, path })),
    );
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter(({ name, path }) => !new RegExp(`\\b${name}\\b`).test(page(path)))).toEqual([]);
  });
});
