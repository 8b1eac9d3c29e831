import type { TemporalServer } from '../../../scripts/temporal.js';

/** The server at this address, or else that of TEMPORAL_ADDRESS, or else a development server of its own. */
export async function serverAt({ address, namespace }: { address?: string | undefined; namespace?: string | undefined }) {
  const server: Pick<TemporalServer, 'address' | 'namespace' | 'stop'> =
    address === undefined ? await started() : { address, namespace: 'default', stop: async () => {} };
  return { address: server.address, namespace: namespace ?? server.namespace, stop: () => server.stop() };
}

/** Loaded only here: the image of a worker has no scripts. */
async function started(): Promise<TemporalServer> {
  const { startTemporal } = await import('../../../scripts/temporal.js');
  return startTemporal();
}
