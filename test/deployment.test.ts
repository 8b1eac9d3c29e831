import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { parse, parseDocument } from 'yaml';
import { readCompose, root, variables } from '../scripts/stack/compose.js';
import { dynamicConfig, searchAttributes } from '../scripts/temporal.js';
import { inPackage } from './support/in-package';

// No container engine is needed: this looks for what would break `docker compose up` by reading. `npm run test:stack` runs the same parts for real.

interface Service {
  image?: string;
  build?: string;
  depends_on?: Record<string, { condition: string }>;
  environment?: Record<string, string | null>;
  entrypoint?: string[];
  ports?: string[];
  volumes?: string[];
  networks?: string[];
  healthcheck?: { test: string[] };
  restart?: string;
}

const read = (path: string) => readFileSync(join(root, path), 'utf8');
const composeText = read('docker-compose.yml');
const compose = readCompose();
const services: Record<string, Service> = compose.services;
const dockerfile = read('Dockerfile').replaceAll('\\\n', ' ');
const instructions = dockerfile.split('\n').filter((line) => /^[A-Z]/.test(line));
const guide = read('docs/deployment.md');

/** What is in each image that a health check or a script of ours calls, and the ports that it listens on. */
const images: Record<string, { tools: string[]; ports: number[] }> = {
  postgres: { tools: ['pg_isready', 'sh'], ports: [5432] },
  // Alpine with BusyBox and, since 1.30, nothing else: no CLI, no curl, no bash.
  'temporalio/server': { tools: ['sh', 'wget', 'nc'], ports: [7233, 7243] },
  'temporalio/admin-tools': { tools: ['/bin/sh', 'sh', 'nc', 'temporal', 'temporal-sql-tool'], ports: [] },
  'temporalio/ui': { tools: ['sh', 'wget'], ports: [8080] },
  worker: { tools: ['node', 'sh', 'git'], ports: [] },
};

const imageOf = (service: Service) => images[service.build ? 'worker' : (service.image?.split(':')[0] ?? '')];

describe('docker-compose.yml', () => {
  test('parses without errors or warnings, and has no duplicate key', () => {
    const document = parseDocument(composeText, { uniqueKeys: true });
    expect([...document.errors, ...document.warnings]).toEqual([]);
  });

  test('names every image, with its whole version', () => {
    for (const [name, service] of Object.entries(services)) {
      if (service.build)
        expect({ name, dockerfile: existsSync(join(root, service.build, 'Dockerfile')) }).toEqual({ name, dockerfile: true });
      else expect(`${name}: ${service.image}`).toMatch(/: [a-z/-]+:\d+\.\d+(\.\d+)?(-[a-z]+)?$/);
      expect({ name, known: imageOf(service) !== undefined }).toEqual({ name, known: true });
    }
  });

  test('sets up the databases with the tools of the server version that uses them', () => {
    const versions = Object.values(services).flatMap(
      ({ image }) => /^temporalio\/(?:server|admin-tools):(.*)/.exec(image ?? '')?.[1] ?? [],
    );
    expect(new Set(versions).size).toBe(1);
  });

  test('gives every variable a default or passes it on, and docs/deployment.md describes each', () => {
    const code = composeText.replaceAll(/^\s*#.*$/gm, '');
    const used = variables(code);
    expect(used.filter(({ fallback }) => fallback === undefined)).toEqual([]);
    // Two defaults for one variable would set two services up for different things.
    for (const { name } of used)
      expect({ name, defaults: [...new Set(used.filter((other) => other.name === name).map((v) => v.fallback))].length }).toEqual({
        name,
        defaults: 1,
      });
    const passedOn = Object.values(services).flatMap(({ environment = {} }) =>
      Object.keys(environment).filter((name) => environment[name] === null),
    );
    const undocumented = [...used.map(({ name }) => name), ...passedOn].filter((name) => !guide.includes(`\`${name}\``));
    expect(undocumented).toEqual([]);
  });

  test('passes the worker every variable that it reads', () => {
    const variablesRead = [...read('src/config.ts').matchAll(/read\('([A-Z_]+)'\)/g)].map(([, name]) => name ?? '');
    expect(variablesRead).toContain('OPENAI_API_KEY');
    expect(Object.keys(services.worker?.environment ?? {})).toEqual(expect.arrayContaining(variablesRead));
  });

  test('keeps tools off the network of the database', () => {
    const networks = (name: string) => services[name]?.networks ?? [];
    expect(networks('postgres')).toEqual(['database']);
    expect(Object.keys(services).filter((name) => networks(name).includes('database'))).toEqual([
      'postgres',
      'temporal-schema',
      'temporal',
    ]);
    expect(networks('worker')).toEqual(['temporal']);
    expect(Object.keys(services).filter((name) => networks(name).length === 0)).toEqual([]);
  });

  test('publishes on loopback only, on ports that differ, to ports that the service listens on', () => {
    const published = Object.values(services).flatMap((service) => (service.ports ?? []).map((mapping) => ({ service, mapping })));
    const hostPorts = published.map(({ service, mapping }) => {
      const [, host, container] = /^127\.0\.0\.1:(\d+):(\d+)$/.exec(mapping) ?? [];
      expect({ mapping, container: Number(container) }).toEqual({
        mapping,
        container: imageOf(service)?.ports.find((port) => String(port) === container),
      });
      return host;
    });
    expect(new Set(hostPorts).size).toBe(hostPorts.length);
  });

  test('waits only for services that exist and can reach the state that is waited for', () => {
    for (const [name, { depends_on = {} }] of Object.entries(services)) {
      for (const [other, { condition }] of Object.entries(depends_on)) {
        const there = services[other];
        const can = {
          service_healthy: there?.healthcheck !== undefined,
          service_completed_successfully: there?.entrypoint !== undefined && /^(no|on-failure(:\d+)?)$/.test(there.restart ?? 'no'),
        }[condition];
        expect({ name, other, condition, can }).toEqual({ name, other, condition, can: true });
      }
    }
    expect(startOrder()).toHaveLength(Object.keys(services).length);
  });

  test('calls only programs that are in the image, and health checks use a port that is listened on', () => {
    for (const [name, service] of Object.entries(services)) {
      const { tools = [], ports = [] } = imageOf(service) ?? {};
      const test = service.healthcheck?.test;
      if (test) expect({ name, test: test.slice(0, 2) }).toEqual({ name, test: ['CMD', tools.find((tool) => tool === test[1])] });
      if (service.entrypoint) expect(tools).toContain(service.entrypoint[0]);
      const asked = /^http:\/\/127\.0\.0\.1:(\d+)\//.exec(test?.at(-1) ?? '')?.[1];
      if (asked) expect(ports).toContain(Number(asked));
    }
    for (const script of readdirSync(join(root, 'deploy')).filter((file) => file.endsWith('.sh'))) {
      execFileSync('sh', ['-n', join(root, 'deploy', script)]);
      const programs = [...read(`deploy/${script}`).matchAll(/^\s*(temporal[\w-]*)/gm)].map(([, program]) => program);
      expect(programs).not.toEqual([]);
      expect(images['temporalio/admin-tools']?.tools).toEqual(expect.arrayContaining(programs));
    }
  });

  test('reaches other services by a name that exists and a port that they listen on', () => {
    const addresses = Object.values(services).flatMap(({ environment = {} }) =>
      Object.entries(environment).flatMap(([key, value]) => {
        if (key === 'TEMPORAL_ADDRESS') return [value ?? ''];
        if (key === 'POSTGRES_SEEDS') return [`${value}:${environment.DB_PORT}`];
        return key === 'SQL_HOST' ? [`${value}:${environment.SQL_PORT}`] : [];
      }),
    );
    expect(addresses).toHaveLength(5);
    for (const address of addresses) {
      const [host = '', port] = address.split(':');
      expect({ address, listens: services[host] && imageOf(services[host])?.ports.includes(Number(port)) }).toEqual({
        address,
        listens: true,
      });
    }
  });

  test('uses one password, one namespace and one user on both sides', () => {
    const value = (name: string, key: string) => services[name]?.environment?.[key];
    expect([value('temporal-schema', 'SQL_PASSWORD'), value('temporal', 'POSTGRES_PWD')]).toEqual(
      Array(2).fill(value('postgres', 'POSTGRES_PASSWORD')),
    );
    expect([value('temporal-schema', 'SQL_USER'), value('temporal', 'POSTGRES_USER')]).toEqual(
      Array(2).fill(value('postgres', 'POSTGRES_USER')),
    );
    expect([value('temporal-ui', 'TEMPORAL_DEFAULT_NAMESPACE'), value('worker', 'TEMPORAL_NAMESPACE')]).toEqual(
      Array(2).fill(value('temporal-namespace', 'TEMPORAL_NAMESPACE')),
    );
  });

  test('mounts what exists: folders of the project, and volumes that are declared and used', () => {
    const used: string[] = [];
    for (const [name, service] of Object.entries(services)) {
      for (const [source = '', target = ''] of (service.volumes ?? []).map((volume) => volume.split(':'))) {
        if (source.startsWith('.')) expect({ name, source, there: existsSync(join(root, source)) }).toEqual({ name, source, there: true });
        else used.push(source);
        for (const path of [...(service.entrypoint ?? []), ...Object.values(service.environment ?? {})]) {
          if (source.startsWith('.') && path?.startsWith(`${target}/`))
            expect(existsSync(join(root, source, posix.relative(target, path)))).toBe(true);
        }
      }
    }
    expect(used.sort()).toEqual(Object.keys(compose.volumes).sort());
    const settings = services.temporal?.environment?.DYNAMIC_CONFIG_FILE_PATH ?? '';
    expect(services.temporal?.volumes?.some((volume) => settings.startsWith(`${volume.split(':')[1]}/`))).toBe(true);
  });
});

describe('deploy', () => {
  test('dynamic-config.yaml has the settings of scripts/temporal.js', () => {
    const file = parse(read('deploy/dynamic-config.yaml')) as Record<string, { value: unknown }[]>;
    expect(Object.fromEntries(Object.entries(file).map(([key, [first]]) => [key, first?.value]))).toEqual(dynamicConfig);
    for (const values of Object.values(file)) expect(values).toHaveLength(1);
  });

  test('dynamic-config.yaml lets the server answer only its own health check over HTTP, and no other name', () => {
    const address = services.temporal?.healthcheck?.test.at(-1) ?? '';
    expect(dynamicConfig['frontend.httpAllowedHosts']).toEqual([new URL(address).host]);
  });

  test('setup-namespace.sh registers the search attributes that scripts/temporal.js registers', () => {
    const registered = [...read('deploy/setup-namespace.sh').matchAll(/--name (\w+) --type (\w+)/g)].map(([, name, type]) => [name, type]);
    expect(Object.fromEntries(registered)).toEqual(searchAttributes);
  });
});

describe('Dockerfile', () => {
  const copied = instructions.flatMap((line) => /^COPY (?!--from)(.*)$/.exec(line)?.[1]?.split(' ').slice(0, -1) ?? []);

  test('pins its base image, on the Node version that the package asks for', () => {
    const bases = instructions.flatMap((line) => /^FROM (\S*:\S*)/.exec(line)?.[1] ?? []);
    expect(new Set(bases).size).toBe(1);
    const [, version = ''] = /^node:(\d+\.\d+\.\d+)-[a-z]+-slim$/.exec(bases[0] ?? '') ?? [];
    const [major = 0, minor = 0] = version.split('.').map(Number);
    const [, least = '', leastMinor = ''] = /^>=(\d+)\.(\d+)$/.exec(JSON.parse(read('package.json')).engines.node) ?? [];
    expect(major).toBe(Number(least));
    expect(minor).toBeGreaterThanOrEqual(Number(leastMinor));
  });

  test('copies what exists, and .dockerignore allows exactly that', () => {
    for (const source of copied) expect({ source, there: existsSync(join(root, source)) }).toEqual({ source, there: true });
    const allowed = read('.dockerignore')
      .split('\n')
      .flatMap((line) => /^!(.*)/.exec(line)?.[1] ?? []);
    expect(allowed.sort()).toEqual([...new Set(copied)].sort());
  });

  test('ends as an unprivileged user, with a command that receives its signals', () => {
    const last = (name: string) => instructions.findLast((line) => line.startsWith(`${name} `));
    expect(last('USER')).toBe('USER node');
    expect(JSON.parse(last('CMD')?.slice(4) ?? '')[0]).toBe('node');
    expect(instructions.some((line) => line.startsWith('RUN npm ci --omit=dev --ignore-scripts'))).toBe(true);
  });

  test('starts and checks files that the build creates', () => {
    const [, entry = ''] = JSON.parse(instructions.findLast((line) => line.startsWith('CMD '))?.slice(4) ?? '');
    expect(JSON.parse(read('package.json')).scripts.build).toMatch(
      /tsc -p tsconfig\.build\.json && node scripts\/compile-unbash\.js && node scripts\/bundle-workflows\.js$/,
    );
    expect(entry).toMatch(/^dist\//);
    expect({ entry, there: existsSync(inPackage(entry)) }).toEqual({ entry, there: true });
    const check = services.worker?.healthcheck?.test.at(-1);
    expect(copied).toContain(check);
  });

  test('drops the native parts for other platforms, and only those', () => {
    const [, program = ''] = /RUN node -e "([^"]*)"/.exec(dockerfile) ?? [];
    const releases = readdirSync(join(root, 'node_modules/@temporalio/core-bridge/releases'));
    const folder = mkdtempSync(join(tmpdir(), 'longhaul-releases-'));
    try {
      for (const name of releases) mkdirSync(join(folder, 'node_modules/@temporalio/core-bridge/releases', name), { recursive: true });
      execFileSync(process.execPath, ['-e', program], { cwd: folder });
      const cpu = { x64: 'x86_64', arm64: 'aarch64' }[process.arch as 'x64' | 'arm64'];
      expect(readdirSync(join(folder, 'node_modules/@temporalio/core-bridge/releases'))).toEqual([`${cpu}-unknown-linux-gnu`]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

/** The services in an order in which each comes after what it waits for; shorter where they wait for each other in a circle. */
function startOrder(): string[] {
  const order: string[] = [];
  for (;;) {
    const next = Object.keys(services).find(
      (name) => !order.includes(name) && Object.keys(services[name]?.depends_on ?? {}).every((other) => order.includes(other)),
    );
    if (!next) return order;
    order.push(next);
  }
}
