import { startTemporal, type TemporalOptions, type TemporalServer } from '../../scripts/temporal.js';
import { saveHistories } from './histories';

export interface SharedServer {
  address: string;
  namespace: string;
  /** Pass it to a worker as `workflowBundle: { codePath: bundlePath }`. */
  bundlePath: string;
}

/** The server that all test files share. Use unique task queues and thread ids; don't restart it, and don't count its workflows. */
export function sharedServer(): SharedServer {
  return {
    address: fromSetup('LONGHAUL_TEST_TEMPORAL'),
    namespace: fromSetup('LONGHAUL_TEST_NAMESPACE'),
    bundlePath: workflowBundlePath(),
  };
}

/** For a test with a server of its own. */
export function workflowBundlePath(): string {
  return fromSetup('LONGHAUL_TEST_BUNDLE');
}

const servers = new Set<TemporalServer>();

/**
 * Starts a server for this test file alone, for example with lower limits (`dynamicConfig`) or a database file. It stops after the file's last
 * test. Its histories are saved when it stops, and replayed after all tests; those of a server that a test kills are lost without a database file.
 */
export async function startServer(options: Omit<TemporalOptions, 'own'> = {}): Promise<TemporalServer> {
  const started = await startTemporal({ ...options, own: true });
  const server = {
    ...started,
    async stop() {
      await saveHistories(started, fromSetup('LONGHAUL_TEST_HISTORIES'));
      await started.stop();
    },
  };
  servers.add(server);
  return server;
}

const users: (() => Promise<unknown>)[] = [];

/** Closes something that uses a server before the servers stop; afterwards, closing would take seconds. */
export function closeBeforeServers(close: () => Promise<unknown>): void {
  users.push(close);
}

afterAll(async () => {
  await Promise.all(users.splice(0).map((close) => close().catch(() => undefined)));
  await Promise.all([...servers].map((server) => server.stop()));
  servers.clear();
});

function fromSetup(name: string): string {
  const value = process.env[name];
  if (value) return value;
  const error = process.env[`${name}_ERROR`];
  throw new Error(
    error
      ? `the workflow bundle could not be made: ${error}`
      : `${name} is not set: did jest's global setup run, and is there a src/workflows/index.ts?`,
  );
}
