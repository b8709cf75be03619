import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import proxyAddress from '@fastify/proxy-addr';

/** `IPv4:port`, `[IPv6]` or `[IPv6]:port`, as some proxies write it. */
const withPort = /^(?:(\d+(?:\.\d+){3}):\d+|\[([0-9a-f:.]+)\](?::\d+)?)$/iu;

/**
 * Finds the address of a request's caller. Without trusted proxies (addresses and CIDR ranges) it is the peer of the connection, otherwise
 * the address that the last of them names in X-Forwarded-For. Where that name is no address, it is the proxy's own address: failed
 * logins are counted by address, and free text would escape the count.
 */
export function createSourceAddress(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  if (trustedProxies.length === 0) return ({ socket }) => socket.remoteAddress ?? '';
  const trusted = proxyAddress.compile([...trustedProxies]);
  return (request) => {
    const { remoteAddress } = request.socket;
    if (remoteAddress === undefined) return '';
    const named = proxyAddress(request, trusted);
    if (named === remoteAddress || isIP(named) !== 0) return named;
    const [, four, six] = withPort.exec(named) ?? [];
    const address = four ?? six ?? '';
    return isIP(address) === 0 ? remoteAddress : address;
  };
}
