import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative, sep } from 'node:path';
import { factsOf } from './support/imports';

/** What the files of a zone may import in addition to their own zone. `types`: zones of which only types may be imported. */
interface Allowance {
  zones?: string[];
  types?: string[];
  /** Package names; `node` means Node's own modules. */
  packages?: string[];
}

/**
 * The rings of docs/architecture.md: purity decreases downwards. A zone is a folder of src, or a file at its top.
 * A line is added here only with the reason why the zone needs it.
 */
const table: Record<string, Allowance> = {
  // The console and the CLI run it too, and workflow code: nothing but the language.
  core: {},
  // The log in the words of other systems.
  projections: { zones: ['core'] },
  contract: { zones: ['core'], packages: ['@temporalio/workflow', '@temporalio/common'] },
  // Not zod: it would add 1 MB to the bundle. Of activities only the interface, which is in the contract.
  workflows: { zones: ['core', 'contract'], packages: ['@temporalio/workflow', '@temporalio/common'] },

  // No Temporal in these three, and none of the others: each is usable from a script.
  stream: { zones: ['core'], packages: ['node'] },
  models: { zones: ['core'], packages: ['node', '@anthropic-ai/sdk', 'openai', 'zod', '@pydantic/genai-prices'] },
  // `ajv`: tools whose input is a JSON Schema. `unbash`: permissions take shell commands apart. `js-yaml`: OpenAPI documents. `htmlparser2`: pages as text. `@jsquash`: codecs of images.
  // `@modelcontextprotocol/client`: MCP servers. Of encoding only the interface of keys, which encrypt stored tokens.
  tools: {
    zones: ['core'],
    types: ['encoding'],
    packages: [
      'node',
      'zod',
      'ajv',
      'ajv-formats',
      'unbash',
      'js-yaml',
      'htmlparser2',
      '@jsquash/jpeg',
      '@jsquash/png',
      '@jsquash/webp',
      '@modelcontextprotocol/client',
    ],
  },
  // Where outputs are kept. Usable from a client, too, which has no worker. `pg`, `@aws-sdk/client-s3`: for workers on several machines.
  artifacts: { zones: ['core'], packages: ['node', 'pg', '@aws-sdk/client-s3'] },
  // A guardrail is tested without an engine around it.
  hooks: { zones: ['core'], packages: ['node'] },

  agents: { zones: ['core', 'tools', 'hooks'], types: ['models'], packages: ['zod', 'node'] },
  // `@temporalio/client`: an activity asks its own workflow for what its transcript cache lacks, and reads the errors of that query.
  activities: {
    zones: ['core', 'contract', 'stream', 'models', 'tools', 'hooks', 'agents', 'artifacts'],
    packages: ['node', 'zod', '@temporalio/activity', '@temporalio/common', '@temporalio/client'],
  },

  config: { packages: ['node', '@temporalio/envconfig'] },
  // Not `client` and not `worker`: both use it. `@temporalio/proto`: the bytes of a payload.
  encoding: { zones: ['contract', 'config'], packages: ['node', '@temporalio/common', '@temporalio/proto'] },
  client: {
    zones: ['core', 'contract', 'config', 'encoding', 'artifacts'],
    types: ['stream'],
    packages: ['node', '@grpc/grpc-js', '@temporalio/client', '@temporalio/common', '@temporalio/envconfig'],
  },
  // Workflows are named by path: the worker bundles them, it never runs them itself.
  worker: {
    zones: ['core', 'contract', 'activities', 'agents', 'stream', 'models', 'tools', 'artifacts', 'config', 'encoding', 'workflow-bundle'],
    packages: ['node', '@temporalio/worker', '@temporalio/common', '@temporalio/client', '@temporalio/envconfig'],
  },
  // Loads the agents' file of the user.
  'worker/agents-file': { packages: ['(computed)'] },
  'workflow-bundle': { zones: ['contract', 'encoding'], packages: ['node', '@temporalio/worker'] },
  cli: {
    zones: ['client', 'core', 'projections', 'contract', 'config', 'artifacts'],
    packages: ['node', 'commander', 'picocolors'],
  },
  // The commands that run a worker in this process and provide Temporal.
  // `@temporalio/worker`: the worker is given a connection to the server that was just started, which no environment names.
  'cli/commands/dev': { zones: ['worker', 'scripts', 'stream'], packages: ['@temporalio/worker'] },
  'cli/commands/dev-server': { zones: ['scripts'] },
  'cli/commands/worker': { zones: ['worker'] },
  // Loads the agents, as a worker does.
  'cli/commands/policy': { zones: ['worker', 'tools'], types: ['agents'] },
  // What the catalog contains, without a server.
  'cli/commands/models': { zones: ['models'] },
  'cli/commands/codec-server': { zones: ['encoding'] },
  'cli/commands/replay': { zones: ['testing'] },

  // What users test their agents with, and what the package exports: they see everything but the programs.
  testing: {
    zones: [
      'core',
      'contract',
      'encoding',
      'stream',
      'models',
      'tools',
      'artifacts',
      'agents',
      'activities',
      'client',
      'worker',
      'workflow-bundle',
    ],
    packages: ['node', 'zod', '@temporalio/*'],
  },
  // Starts a server for the runs, unless one is named.
  'testing/crash/server': { zones: ['scripts'] },
  index: {
    zones: [
      'core',
      'projections',
      'contract',
      'stream',
      'models',
      'tools',
      'artifacts',
      'hooks',
      'agents',
      'client',
      'worker',
      'workflow-bundle',
    ],
  },
};

/** What is wrong with a file of src, in words; `file` is its path below src, with slashes. */
function violations(file: string, source: string): string[] {
  const zone = zoneOf(file);
  const allowed = allowanceOf(file);
  if (!allowed) return [`${file} is in no zone of the table in test/architecture.test.ts`];
  const facts = factsOf(source);
  const found = facts.imports
    .filter(({ from, typesOnly }) => {
      if (!from.startsWith('.')) return !(allowed.packages ?? []).some((name) => covers(name, from));
      const target = zoneOf(
        normalize(join(dirname(file), from))
          .split(sep)
          .join('/'),
      );
      return target !== zone && !allowed.zones?.includes(target) && !(typesOnly && allowed.types?.includes(target));
    })
    .map(({ from }) => `${file} (${zone}) may not import ${from}`);
  return facts.readsEnvironment && zone !== 'config' ? [...found, `${file} reads process.env, which only src/config.ts may`] : found;
}

function zoneOf(file: string): string {
  const [first = '', second = ''] = file.split('/');
  return (first === '..' ? second : first).replace(/\.[jt]s$/, '');
}

/** A file's own line of the table adds to that of its zone. */
function allowanceOf(file: string): Allowance | undefined {
  const zone = table[zoneOf(file)];
  const own = table[file.replace(/\.ts$/, '')];
  if (!zone || !own || zone === own) return zone;
  return {
    zones: [...(zone.zones ?? []), ...(own.zones ?? [])],
    types: [...(zone.types ?? []), ...(own.types ?? [])],
    packages: [...(zone.packages ?? []), ...(own.packages ?? [])],
  };
}

function covers(name: string, from: string): boolean {
  if (name === 'node') return from.startsWith('node:');
  return name.endsWith('/*') ? from.startsWith(name.slice(0, -1)) : from === name || from.startsWith(`${name}/`);
}

const src = join(__dirname, '../src');

function sources(): string[] {
  return readdirSync(src, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(src, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort();
}

test('every file imports only what its zone may', () => {
  expect(sources()).toContain('core/message.ts');
  expect(sources().flatMap((file) => violations(file, readFileSync(join(src, file), 'utf8')))).toEqual([]);
});

const page = readFileSync(join(__dirname, '../docs/architecture.md'), 'utf8');

test('docs/architecture.md has the same table', () => {
  expect(documented()).toEqual(Object.fromEntries(Object.entries(table).map(([zone, allowed]) => [zone, ordered(allowed)])));
});

test('and says what the folders of a zone are, unless they are one for each provider or system', () => {
  const folders = [...new Set(sources().flatMap((file) => /^([\w-]+\/[\w-]+)\//.exec(file)?.[1] ?? []))];
  const rowOf = (zone: string) =>
    page.split('\n').find((line) => line.startsWith('| `') && line.split(' | ')[0]?.match(`\`${zone}/?\``)) ?? '';
  const missing = folders.filter((folder) => {
    const [zone = '', name] = folder.split('/');
    return !rowOf(zone).includes('one folder each') && !rowOf(zone).includes(`\`${name}\``);
  });
  expect(folders).toContain('tools/built-in');
  expect(missing).toEqual([]);
});

test('the table of the loop has each file of src/workflows', () => {
  const [, section = ''] = page.split('## The loop, file by file');
  const [table = ''] = section.split(/^## /m);
  const named = [...table.matchAll(/`([\w-]+\.ts)`/g)].map(([, name]) => `workflows/${name}`);
  expect(named.sort()).toEqual(sources().filter((file) => file.startsWith('workflows/')));
});

test('each file that docs/architecture.md names exists', () => {
  const named = [...page.matchAll(/`((?:[\w-]+\/)+[\w.-]+\.ts)`/g)].map(([, path = '']) => path);
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((path) => !existsSync(join(src, path)) && !existsSync(join(src, '..', path)))).toEqual([]);
});

/** The table as the page has it: what may be imported of ours (`core; types of stream`), and of packages (`/common` is Temporal's). */
function documented(): Record<string, Required<Allowance>> {
  const section = page.split(/^## /m).find((part) => part.startsWith('Who may import whom')) ?? '';
  const rows = [...section.matchAll(/^\| (`.+?) \| .+? \| (.+?) \| (.+?) \|$/gm)];
  return Object.fromEntries(
    rows.flatMap(([, names = '', ours = '', packages = '']) => {
      const [zones = '', types = ''] = ours.split('; types of ');
      const allowed = ordered({ zones: listed(zones), types: listed(types), packages: listed(packages) });
      return listed(names).map((name) => [name.replace(/\.ts$|\/$/, ''), allowed]);
    }),
  );
}

function listed(cell: string): string[] {
  const names = cell.split(/, /).map((name) =>
    name
      .replaceAll('`', '')
      .replace(/^\//, '@temporalio/')
      .replace(/^Node$/, 'node'),
  );
  return names.filter((name) => !['', 'nothing', 'none'].includes(name));
}

function ordered({ zones = [], types = [], packages = [] }: Allowance): Required<Allowance> {
  return { zones: [...zones].sort(), types: [...types].sort(), packages: [...packages].sort() };
}

// Wrong in rare cases, or different on replay: the clock after a local activity includes its duration only the first time.
const unrepeatable = /continueAsNewSuggested|historyLength|historySize|LocalActivit/;

test('workflow code does not use what replay does not repeat', () => {
  // The interceptors are no thread: two of them look at what the SDK's core reports, to find out that it is wrong.
  const guards = ['workflows/interceptors.ts', 'workflows/account-for-events.ts'];
  const threads = sources().filter((file) => /^(workflows|core)\//.test(file) && !guards.includes(file));
  const offenders = threads.filter((file) => unrepeatable.test(readFileSync(join(src, file), 'utf8')));
  expect(offenders).toEqual([]);
});

// What is written there is of the type `Styled`, of which the compiler knows that it can't control a terminal.
test('commands write to the terminal in one place only', () => {
  const writes = /process\.std(?:out|err)\.write|\bconsole\.|from 'picocolors'/;
  const offenders = sources().filter((file) => file.startsWith('cli/') && writes.test(readFileSync(join(src, file), 'utf8')));
  expect(offenders).toEqual(['cli/views/styled.ts', 'cli/views/terminal.ts']);
});

describe('the checker', () => {
  test('lets a zone import itself, the zones above it and its packages', () => {
    expect(violations('core/context/cut.ts', "import { a } from '../message';")).toEqual([]);
    expect(violations('workflows/agent-thread.ts', "import { a } from '../core/state'; import { b } from '@temporalio/workflow';")).toEqual(
      [],
    );
    expect(
      violations(
        'models/openai/client.ts',
        "import OpenAI from 'openai'; import type { C } from 'openai/resources'; import 'node:fs/promises';",
      ),
    ).toEqual([]);
    expect(
      violations(
        'cli/commands/dev.ts',
        "import { startTemporal } from '../../../scripts/temporal.js'; import { createWorker } from '../../worker';",
      ),
    ).toEqual([]);
  });

  test.each([
    ['core/state.ts', "import { z } from 'zod';"],
    ['core/state.ts', "import type { Stats } from 'node:fs';"],
    ['core/state.ts', "import type { ThreadInput } from '../contract/thread';"],
    ['core/context/cut.ts', "type A = import('../../models/model').ModelAnswer;"],
    ['workflows/agent-thread.ts', "import { createActivities } from '../activities';"],
    ['workflows/agent-thread.ts', "import type * as activities from '../activities';"],
    ['workflows/agent-thread.ts', "export { z } from 'zod';"],
    ['tools/built-in/shell.ts', "export * from '../../models/model';"],
    ['tools/built-in/shell.ts', "const { Context } = require('@temporalio/activity');"],
    ['stream/bus.ts', "const client = await import('@temporalio/client');"],
    ['stream/bus.ts', 'const client = await import(name);'],
    ['agents/define-agent.ts', "import { createModels } from '../models/registry';"],
    ['client.ts', "import { agentThread } from './workflows';"],
    ['worker.ts', "import { agentThread } from './workflows/agent-thread';"],
    ['worker.ts', "const path = require.resolve('./workflows');"],
    ['cli/commands/show.ts', "import { createWorker } from '../../worker';"],
    ['activities/call-model.ts', "import { type A } from '../workflows/record';"],
  ])('finds the violation in %s: %s', (file, source) => {
    expect(violations(file, source)).toHaveLength(1);
  });

  test('tells types from values where only types are allowed', () => {
    expect(violations('agents/define-agent.ts', "import type { ModelProvider } from '../models/model';")).toEqual([]);
    expect(violations('agents/define-agent.ts', "import { type ModelProvider } from '../models/model';")).toEqual([]);
    expect(violations('agents/define-agent.ts', "import { type ModelProvider, createModels } from '../models/model';")).toHaveLength(1);
    expect(violations('agents/define-agent.ts', "import '../models/model';")).toHaveLength(1);
  });

  test.each(['const key = process.env.OPENAI_API_KEY;', "spawn('sh', { env: process['env'] });", 'const { env } = process;'])(
    'finds the read of the environment in: %s',
    (source) => {
      expect(violations('tools/built-in/shell.ts', source)).toEqual([
        'tools/built-in/shell.ts reads process.env, which only src/config.ts may',
      ]);
      expect(violations('config.ts', source)).toEqual([]);
    },
  );

  test('ignores comments and strings', () => {
    expect(
      violations('core/state.ts', "// import { z } from 'zod'; process.env\nconst text = \"import 'zod'; process.env.HOME\";"),
    ).toEqual([]);
  });

  test('refuses a zone that is not in the table', () => {
    expect(violations('misc/things.ts', '')).toHaveLength(1);
  });
});
