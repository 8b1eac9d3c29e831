// @ts-check
'use strict';

// Runs the services of docker-compose.yml natively: same versions, environment and setup scripts; only hosts, ports and paths differ.

const fs = require('node:fs');
const { get } = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { guarded } = require('../guarded');
const { findBinary } = require('../temporal-binary');
const { readCompose, imageVersion, root } = require('./compose');
const { findPostgres, postgresCluster } = require('./postgres');
const { serverBinaries } = require('./server-binaries');
const { until, freePort } = require('./until');

const settings = { POSTGRES_PASSWORD: 'stack-test' };

/** @param {(line: string) => void} log */
async function temporalStack(log) {
  const { services } = readCompose(settings);
  // Fail before a build, which may take minutes.
  findPostgres();
  const bin = await serverBinaries(imageVersion('temporal'), log);
  const cli = await findBinary(log);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'longhaul-stack-'));
  // The user that PostgreSQL runs as must be able to reach its folder.
  fs.chmodSync(folder, 0o755);
  fs.mkdirSync(path.join(folder, 'bin'));
  fs.symlinkSync(cli, path.join(folder, 'bin', 'temporal'));
  fs.mkdirSync(path.join(folder, 'postgres'));

  const ports = await distinctPorts(['postgres', 'frontend', 'http', 'history', 'matching', 'worker', 'm1', 'm2', 'm3', 'm4']);
  const postgres = postgresCluster(path.join(folder, 'postgres'), ports.postgres, settings.POSTGRES_PASSWORD);
  const address = `127.0.0.1:${ports.frontend}`;
  /** @type {NodeJS.ProcessEnv} */
  const env = { ...process.env, PATH: [bin, path.join(folder, 'bin'), process.env.PATH].join(path.delimiter) };
  for (const name of Object.keys(env)) if (name.startsWith('TEMPORAL_') || name.startsWith('SQL_')) delete env[name];

  const serverEnv = {
    ...env,
    ...services.temporal.environment,
    POSTGRES_SEEDS: '127.0.0.1',
    DB_PORT: String(ports.postgres),
    BIND_ON_IP: '127.0.0.1',
    DYNAMIC_CONFIG_FILE_PATH: path.join(root, services.temporal.environment.DYNAMIC_CONFIG_FILE_PATH),
    FRONTEND_GRPC_PORT: String(ports.frontend),
    FRONTEND_HTTP_PORT: String(ports.http),
    HISTORY_GRPC_PORT: String(ports.history),
    MATCHING_GRPC_PORT: String(ports.matching),
    WORKER_GRPC_PORT: String(ports.worker),
    FRONTEND_MEMBERSHIP_PORT: String(ports.m1),
    HISTORY_MEMBERSHIP_PORT: String(ports.m2),
    MATCHING_MEMBERSHIP_PORT: String(ports.m3),
    WORKER_MEMBERSHIP_PORT: String(ports.m4),
  };
  /** @type {import('../guarded').Guarded | undefined} */
  let server;

  /** Runs a service of the file that exits by itself. @param {string} name @param {Record<string, string>} overrides */
  const runJob = async (name, overrides) => {
    const [command, script] = services[name].entrypoint;
    const job = guarded(command, [path.join(root, script)], { env: { ...env, ...services[name].environment, ...overrides } });
    const { code, output, error } = await job.ended;
    if (code !== 0) throw new Error(`${script} ended with ${error ?? code}:\n${output}`);
    return output;
  };

  return {
    address,
    namespace: services['temporal-namespace'].environment.TEMPORAL_NAMESPACE,
    version: imageVersion('temporal'),
    folder,
    postgres,
    setupSchema: () => runJob('temporal-schema', { SQL_HOST: '127.0.0.1', SQL_PORT: String(ports.postgres) }),
    setupNamespace: () => runJob('temporal-namespace', { TEMPORAL_ADDRESS: address }),

    /** Lets the server validate the dynamic config file. Resolves with its output. */
    async validateDynamicConfig() {
      const job = guarded(path.join(bin, 'temporal-server'), ['validate-dynamic-config', serverEnv.DYNAMIC_CONFIG_FILE_PATH]);
      return (await job.ended).output;
    },

    /** Resolves when the health check of the compose file passes. */
    async startServer() {
      const started = guarded(path.join(bin, 'temporal-server'), ['start'], { env: serverEnv });
      server = started;
      const check = new URL(services.temporal.healthcheck.test.at(-1));
      // The port differs here, but the `Host` header is that of the compose file, because the server accepts no other.
      const here = { host: check.hostname, port: ports.http, path: check.pathname, headers: { host: check.host } };
      await until('the Temporal server is healthy', async () => (await statusOf(here)) === 200, 60_000, started);
    },

    async killServer() {
      await server?.kill();
      server = undefined;
    },

    async stop() {
      await server?.kill();
      await postgres.stop();
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** @param {import('node:http').RequestOptions} options @returns {Promise<number | undefined>} */
function statusOf(options) {
  return new Promise((resolve, reject) => {
    const asked = get(options, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    asked.once('error', reject);
  });
}

/** @template {string} Name @param {Name[]} names @returns {Promise<Record<Name, number>>} */
async function distinctPorts(names) {
  const ports = new Set();
  while (ports.size < names.length) ports.add(await freePort());
  const list = [...ports];
  return /** @type {any} */ (Object.fromEntries(names.map((name, i) => [name, list[i]])));
}

module.exports = { temporalStack };
