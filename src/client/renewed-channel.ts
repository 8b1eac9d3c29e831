import { Channel, type ChannelCredentials, type ChannelInterface, type ChannelOptions, connectivityState } from '@grpc/grpc-js';

/** Longer than a handshake takes on a good network. The time doubles with each attempt, for networks on which a handshake takes seconds. */
const shortestMs = 5_000;
/** The time that gRPC prescribes for a connection attempt. */
const longestMs = 20_000;

const { CONNECTING, TRANSIENT_FAILURE, READY, SHUTDOWN } = connectivityState;

/**
 * A gRPC channel that is replaced if it does not get connected for some time.
 *
 * gRPC for Node waits without a limit for a server's first HTTP/2 frame. If the network drops the bytes of a new connection, as a firewall or a proxy
 * that lost its peer does, the channel makes no further attempt until the socket closes, which may never happen, and every call on it fails
 * meanwhile. Calls that wait on a replaced channel fail with `UNAVAILABLE`, and are retried on the new one.
 */
export function renewedChannel(target: string, credentials: ChannelCredentials, options: ChannelOptions): ChannelInterface {
  // From the shared subchannel pool, the new channel would get the hanging connection again.
  const open = () => new Channel(target, credentials, { ...options, 'grpc.use_local_subchannel_pool': 1 });
  let current = open();
  let patienceMs = shortestMs;
  let timer: NodeJS.Timeout | undefined;

  const settle = () => {
    clearTimeout(timer);
    timer = undefined;
  };
  const follow = (channel: Channel) => {
    if (channel !== current) return;
    const state = channel.getConnectivityState(false);
    if (state === READY) patienceMs = shortestMs;
    if (state === CONNECTING || state === TRANSIENT_FAILURE) timer ??= setTimeout(renew, patienceMs).unref();
    else settle();
    if (state !== SHUTDOWN) channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, (error) => error ?? follow(channel));
  };
  const renew = () => {
    settle();
    patienceMs = Math.min(patienceMs * 2, longestMs);
    const before = current;
    current = open();
    follow(current);
    before.close();
  };
  follow(current);

  return {
    close: () => current.close(),
    getTarget: () => current.getTarget(),
    getConnectivityState: (tryToConnect) => current.getConnectivityState(tryToConnect),
    watchConnectivityState: (...args) => current.watchConnectivityState(...args),
    getChannelzRef: () => current.getChannelzRef(),
    createCall: (...args) => current.createCall(...args),
  };
}
