import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';

/** `IPv4:port`, `[IPv6]` or `[IPv6]:port`, as some proxies write it. */
const withPort = /^(?:(\d+(?:\.\d+){3}):\d+|\[([0-9a-f:.]+)\](?::\d+)?)$/iu;

/**
 * The address of the caller: of the connection, or as the last of the trusted proxies names it in X-Forwarded-For. Where what that names is no
 * address, the proxy's own: anybody's text would be no caller to count failed logins by.
 */
export function sourceAddressOf(
  request: Pick<FastifyRequest, 'ip'> & { readonly raw: Pick<FastifyRequest['raw'], 'socket'> },
): string {
  const { ip } = request;
  const { remoteAddress } = request.raw.socket;
  if ((remoteAddress !== undefined && ip === remoteAddress) || isIP(ip) !== 0) return ip;
  const [, four, six] = withPort.exec(ip) ?? [];
  const address = four ?? six ?? '';
  return isIP(address) === 0 ? (remoteAddress ?? '') : address;
}
