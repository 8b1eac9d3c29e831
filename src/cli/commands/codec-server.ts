import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readCodecToken } from '../../config';
import { codecEndpoint } from '../../encoding/codec-endpoint';
import { configuredEncoding, startEncoding } from '../../encoding/encoding';
import { UsageError } from '../exit';
import { paint, styled } from '../views/styled';
import { note } from '../views/terminal';

export interface CodecServerOptions {
  host: string;
  port: number;
  origin: string[];
  namespace?: string[];
}

const loopback = ['127.0.0.1', '::1', 'localhost'];

/** Serves Temporal's remote codec protocol with the keys of the environment, until Ctrl-C or SIGTERM. */
export async function codecServer({ host, port, origin: origins, namespace: namespaces }: CodecServerOptions): Promise<void> {
  const token = readCodecToken();
  if (!loopback.includes(host) && token === undefined) {
    throw new UsageError(
      `Anyone who reaches ${host} could decrypt payloads. Set LONGHAUL_CODEC_TOKEN to a secret that requests must have.`,
    );
  }
  const encoding = configuredEncoding();
  const { codecs } = await startEncoding(encoding);
  const server = createServer(codecEndpoint({ codecs, origins, ...(token && { token }), ...(namespaces && { namespaces }) }));
  await new Promise<void>((listening, failed) => {
    server.once('error', failed);
    server.listen(port, host, listening);
  });
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${(server.address() as AddressInfo).port}`;
  note(
    styled`${paint.bold('longhaul codec-server')} at ${url}, with ${keysOf(encoding.keys?.ids?.())}, for pages of ${origins.join(', ')}`,
  );
  note(paint.dim(styled`temporal workflow show --codec-endpoint ${url} --workflow-id ID`));
  await new Promise((stop) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  });
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
}

function keysOf(ids: string[] | undefined): string {
  return ids ? `key${ids.length > 1 ? 's' : ''} ${ids.join(', ')}` : 'no keys: it only decompresses';
}
