#!/usr/bin/env node
// @ts-check
'use strict';

// Provides Temporal to the demo, the tests, `longhaul dev` and the bench: an existing server, or a development server that it starts.
// It has no dependencies, so it works before anything is installed. `node scripts/temporal.js` starts a server and waits for Ctrl-C.

const net = require('node:net');
const { guarded } = require('./guarded');
const { findBinary } = require('./temporal-binary');

/** @typedef {import('./temporal').TemporalOptions} TemporalOptions */
/** @typedef {import('./temporal').TemporalServer} TemporalServer */

/** Settings of every server that is started here. The caller's `dynamicConfig` overrides them. */
const dynamicConfig = {
  // By default a shard polls its transfer queue 20 times a second, so that a turn of a single thread takes 190 ms instead of 20 ms.
  'history.transferProcessorMaxPollRPS': 1_000,
  'system.enableActivityEagerExecution': true,
  // How long the workflow task of a killed worker blocks a thread that the CLI or the Web UI started (10 s by default). Ample for a full replay.
  'history.defaultWorkflowTaskTimeout': '5s',
  // Timers are rounded up to a second by default. Recovery from a dead worker depends on two of them: the heartbeat timeout and the retry delay.
  'history.timerProcessorMaxTimeShift': '100ms',
  // How long a reader's long poll waits for new events (20 s by default). 29 s is the most that the server's own timeouts allow.
  'history.longPollExpirationInterval': '29s',
  // The server also has an HTTP API, which can't be disabled and would accept requests of any web page to start a thread or to approve a call.
  // Only the health check of docker-compose.yml uses this name; a development server listens on another port, so it refuses every request.
  'frontend.httpAllowedHosts': ['127.0.0.1:7243'],
};

const searchAttributes = {
  AgentName: 'Keyword',
  AgentStatus: 'Keyword',
  AgentModel: 'Keyword',
  AgentCostUsd: 'Double',
  AgentPendingTool: 'Keyword',
  AgentPendingGroup: 'Keyword',
  AgentWaitingSince: 'Datetime',
  AgentIds: 'KeywordList',
};

/** @type {typeof import('./temporal').resolveTemporal} */
async function resolveTemporal({ own = false, log = () => {} } = {}) {
  const address = process.env.TEMPORAL_ADDRESS;
  if (address && !own) return { kind: 'address', address };
  return { kind: 'binary', path: await findBinary(log) };
}

/** @type {typeof import('./temporal').startTemporal} */
async function startTemporal(options = {}) {
  const found = await resolveTemporal(options);
  if (found.kind === 'binary') return startServer(found.path, options);
  await mustAnswer(found.address);
  const namespace = process.env.TEMPORAL_NAMESPACE || 'default';
  return { address: found.address, namespace, ownServer: false, stop: async () => {}, kill: () => {} };
}

/**
 * A port that was free may be taken by the time the server binds it; the same holds for ports that the server chooses itself. The server then
 * reports that and exits, and this tries again.
 * @param {string} binary @param {TemporalOptions} options @returns {Promise<TemporalServer>}
 */
async function startServer(binary, options) {
  const giveUp = Date.now() + (options.port ? 5_000 : 15_000);
  for (;;) {
    const port = options.port ?? (await freePort());
    const uiPort = options.ui ? (options.uiPort ?? (await freePort())) : undefined;
    const metricsPort = options.metrics ? await freePort() : undefined;
    const failure = await launch(binary, { port, uiPort, metricsPort }, options);
    if (typeof failure !== 'string') return failure;
    if (!/address already in use/i.test(failure) || Date.now() > giveUp) {
      throw new Error(`The Temporal development server (${binary}) did not start on port ${port}:\n${failure}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** @typedef {{ port: number, uiPort: number | undefined, metricsPort: number | undefined }} Ports */

/** @param {string} binary @param {Ports} ports @param {TemporalOptions} options @returns {Promise<TemporalServer | string>} */
async function launch(binary, ports, options) {
  const { port, uiPort, metricsPort } = ports;
  /** @type {() => void} */
  let isReady = () => {};
  const ready = new Promise((resolve) => {
    isReady = () => resolve('ready');
  });
  const server = guarded(binary, serverArguments(ports, options), {
    // The server prints this line when it is ready. An answer on the port could come from another server.
    onLine: (line) => {
      if (/server:/i.test(line) && line.trimEnd().endsWith(`:${port}`)) isReady();
    },
  });
  let slow = false;
  const deadline = setTimeout(() => {
    slow = true;
    void server.kill();
  }, 60_000);
  const first = await Promise.race([ready, server.ended]);
  clearTimeout(deadline);
  if (first !== 'ready') {
    const { output, error, code } = await server.ended;
    return slow
      ? `The server was not ready after 60 s. ${output}`
      : (error ?? (output.trim() || `The server ended with exit code ${code} and without output.`));
  }
  const pid = await server.pid;
  server.background();
  const kill = () => {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has already exited.
    }
  };
  return {
    address: `127.0.0.1:${port}`,
    namespace: 'default',
    ownServer: true,
    binary,
    ...(uiPort && { uiUrl: `http://127.0.0.1:${uiPort}` }),
    ...(metricsPort && { metricsUrl: `http://127.0.0.1:${metricsPort}/metrics` }),
    pid,
    ended: server.ended,
    // SIGKILL, because a graceful stop takes 2 to 3 seconds, and a database file loses nothing either way.
    async stop() {
      await server.kill();
    },
    kill,
  };
}

/** @param {Ports} ports @param {TemporalOptions} options */
function serverArguments({ port, uiPort, metricsPort }, options) {
  const args = ['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), '--log-level', 'error'];
  args.push(...(uiPort ? ['--ui-port', String(uiPort)] : ['--headless']));
  if (metricsPort) args.push('--metrics-port', String(metricsPort));
  if (options.dbFilename) {
    // These pragmas survive SIGKILL of the server and are three times as fast as the default.
    args.push('--db-filename', options.dbFilename, '--sqlite-pragma', 'journal_mode=wal', '--sqlite-pragma', 'synchronous=normal');
  }
  const config = { ...dynamicConfig, ...options.dynamicConfig };
  for (const [key, value] of Object.entries(config)) args.push('--dynamic-config-value', `${key}=${JSON.stringify(value)}`);
  for (const [name, type] of Object.entries({ ...searchAttributes, ...options.searchAttributes }))
    args.push('--search-attribute', `${name}=${type}`);
  return args;
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve, reject) => {
    const probe = net.createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = /** @type {net.AddressInfo} */ (probe.address());
      probe.close(() => resolve(port));
    });
  });
}

/** Fails early with a clear message; a later connection would fail with "unavailable" after its deadline. @param {string} address @returns {Promise<void>} */
function mustAnswer(address) {
  const [, host = '', port = ''] = /^(?:https?:\/\/)?(.*?)(?::(\d+))?\/?$/.exec(address) ?? [];
  return new Promise((resolve, reject) => {
    const fail = (/** @type {string} */ why) =>
      reject(
        new Error(`TEMPORAL_ADDRESS=${address} does not answer (${why}). Start that server, or unset the variable to have one started.`),
      );
    const socket = net.connect({ host: host.replace(/^\[|\]$/g, ''), port: Number(port || 7233), timeout: 5_000 });
    socket.once('connect', () => {
      socket.destroy();
      resolve();
    });
    socket.once('timeout', () => {
      socket.destroy();
      fail('no connection within 5 s');
    });
    socket.once('error', (/** @type {NodeJS.ErrnoException} */ error) => fail(error.code ?? error.message));
  });
}

async function main() {
  const server = await startTemporal({ ui: true, log: (line) => console.error(line) });
  if (server.ownServer) {
    const open = setInterval(() => {}, 60_000);
    for (const signal of ['SIGINT', 'SIGTERM']) {
      process.once(signal, async () => {
        clearInterval(open);
        await server.stop();
      });
    }
  }
  // Last, because a reader of the address may send a signal immediately.
  console.log(server.address);
  if (server.uiUrl) console.error(`Web UI: ${server.uiUrl}\nCtrl-C stops it.`);
}

module.exports = { resolveTemporal, startTemporal, dynamicConfig, searchAttributes };

if (require.main === module) {
  main().catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}
