import { lookup } from 'node:dns';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { addAbortSignal, type Readable } from 'node:stream';
import { createBrotliDecompress, createInflate, createUnzip } from 'node:zlib';
import { isPublicAddress } from './public-address';

export interface OpenedUrl {
  status: number;
  headers: IncomingMessage['headers'];
  /** Decoded, if it is compressed: the decoder is made when the body is first taken. Reading it to the end, or destroying it, closes the connection. */
  readonly body: Readable;
  /**
   * Throws if the connection failed or the signal was aborted since the answer began. To be called after the body ended: one of no stated length also
   * ends without an error then.
   */
  throwIfBroken(): void;
}

export interface OpenOptions {
  signal: AbortSignal;
  headers: Record<string, string>;
  /** Connects to private and other special addresses, too. */
  mayBePrivate: boolean;
  /** Resolves names. Default: that of the system. */
  resolve?: typeof lookup | undefined;
}

/** The host has an address that is not public. */
export class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError';
}

/**
 * Sends one GET request, without following redirects. It connects only to public addresses unless `mayBePrivate`. The addresses of a name are checked
 * when the connection is made, and the connection uses these, so a name can't have other addresses by then.
 */
export async function openUrl(url: URL, { signal, headers, mayBePrivate, resolve = lookup }: OpenOptions): Promise<OpenedUrl> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  // No name is looked up for an address.
  if (!mayBePrivate && isIP(host) !== 0) refusePrivate(host, [host]);
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  let broken: { error: Error } | undefined;
  const answer = await new Promise<IncomingMessage>((done, fail) => {
    // A connection of its own: one that is kept open may have been made for a caller with other rights.
    const options = { agent: false, signal, headers, lookup: mayBePrivate ? (resolve as LookupFunction) : publicLookup(resolve) };
    const request = send(url, options);
    request.once('response', (answer) => {
      request.on('error', (error) => {
        broken = { error };
        answer.destroy(error);
      });
      done(answer);
    });
    request.once('upgrade', (_, socket) => {
      socket.destroy();
      fail(new Error('The server switched to another protocol.'));
    });
    request.on('error', fail).end();
  });
  let body: Readable | undefined;
  return {
    status: answer.statusCode ?? 0,
    headers: answer.headers,
    get body() {
      return (body ??= decoded(answer, signal));
    },
    throwIfBroken() {
      if (broken) throw broken.error;
    },
  };
}

/** Resolves a name for a connection, and fails if any of its addresses is not public. */
export function publicLookup(resolve: typeof lookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '');
      try {
        refusePrivate(
          hostname,
          addresses.map(({ address }) => address),
        );
      } catch (refusal) {
        return callback(refusal as Error, '');
      }
      const [first] = addresses;
      if (options.all) callback(null, addresses);
      else callback(null, first?.address ?? '', first?.family);
    });
  };
}

function refusePrivate(host: string, addresses: readonly string[]): void {
  const found = addresses.find((address) => !isPublicAddress(address));
  if (found === undefined) return;
  const which = found === host ? 'is not a public address' : `has the address ${found}, which is not public`;
  throw new PrivateAddressError(`${host} ${which}`);
}

/** An encoding that is unknown stays as it is; the bytes are then not text. */
function decoded(answer: IncomingMessage, signal: AbortSignal): Readable {
  const decoder = decoderOf(answer.headers['content-encoding']);
  if (!decoder) return answer;
  if (answer.destroyed) return decoder.destroy(answer.errored ?? new Error('The connection was closed.'));
  // What was received may decode to nothing for a long time.
  addAbortSignal(signal, decoder);
  answer.once('error', (error) => decoder.destroy(error));
  decoder.once('close', () => answer.destroy());
  return answer.pipe(decoder);
}

function decoderOf(encoding: string | undefined) {
  switch (encoding?.trim().toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
      return createUnzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
    default:
      return undefined;
  }
}
