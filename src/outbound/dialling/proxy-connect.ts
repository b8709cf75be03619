import { isIP, type Socket } from 'node:net';
import { GatewayError } from '#base/gateway-error.ts';
import type { Secret } from '#base/secret.ts';
import { basicCredentials } from '../call/outbound-call.ts';
import { hostAndPort } from '../policy/destination-policy.ts';
import {
  AddressFailed,
  type ConnectDeadline,
  type Dial,
  dialEach,
  dialOne,
  StepTimedOut,
  socketFailure,
  untilReady,
} from './dial.ts';
import type { Resolve } from './resolver.ts';
import { createHandshake, type Handshake, tlsBesideOwn } from './tls-handshake.ts';

/** Named by the operator, so the outbound policy does not apply to it. */
export interface ProxyOptions {
  /** Without credentials. */
  readonly url: string;
  readonly username?: string;
  readonly password?: Secret;
  /** The gateway trusts the proxy to choose addresses. */
  readonly resolves: boolean;
}

interface Proxy {
  readonly resolves: boolean;
  /** Follows "No connection" in errors. */
  readonly way: string;
  /** Of the proxy itself, looked up for each connection. */
  addresses(): Promise<readonly string[]>;
  /** To `host:port`. Rejects with AddressFailed where another address may work, else with a GatewayError. */
  tunnel(authority: string, addresses: readonly string[], deadline: ConnectDeadline, limit: number): Promise<Socket>;
}

interface ProxyNeeds {
  readonly proxy: ProxyOptions;
  /** In addition to Node's own. */
  readonly ca: string | undefined;
  readonly dial: Dial;
  readonly resolve: Resolve;
  readonly dnsTimeout: number;
}

/** Bytes. */
const maxHeadLength = 16_384;

/** Throws a TypeError where the proxy's URL is invalid. */
export function createProxy({ proxy, ca, dial, resolve, dnsTimeout }: ProxyNeeds): Proxy {
  const { host, port, secure } = readProxyUrl(proxy.url);
  const handshake: Handshake | undefined = secure ? createHandshake(tlsBesideOwn(ca), 'proxy') : undefined;
  const where = `the proxy ${hostAndPort(host, port)}`;
  return {
    resolves: proxy.resolves,
    addresses: async () => (isIP(host) === 0 ? await resolve(host, { timeout: dnsTimeout }) : [host]),
    async tunnel(authority, addresses, deadline, limit) {
      const open = (address: string, share: number): Promise<Socket> =>
        dialOne({ dial, address, port, limit: Math.min(share, limit), pinned: false });
      const ask = async (credentials: string | undefined): Promise<Socket> => {
        const dialled = await dialEach({ addresses, port, deadline, way: ' to the proxy', open });
        const socket = handshake === undefined ? dialled : await handshake(dialled, { host, port, deadline });
        await askForTunnel({ socket, authority, credentials, limit: Math.min(limit, deadline.remaining()), where });
        return socket;
      };
      const held = proxyCredentials(proxy);
      try {
        return await ask(held);
      } catch (failure) {
        if (!(failure instanceof CredentialsRefused)) throw failure;
        await proxy.password?.renew();
        const renewed = proxyCredentials(proxy);
        if (renewed === held) throw failure;
        return await ask(renewed);
      }
    },
    way: ` by way of ${where}`,
  };
}

function readProxyUrl(text: string): { readonly host: string; readonly port: number; readonly secure: boolean } {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new TypeError('proxy.url must be an http or https URL');
  if (url.username !== '' || url.password !== '')
    throw new TypeError('proxy.url holds credentials; give them as proxy.username and proxy.password');
  const secure = url.protocol === 'https:';
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  return { host: url.hostname.replaceAll(/[[\]]/gu, ''), port, secure };
}

function proxyCredentials({ username, password }: ProxyOptions): string | undefined {
  if (username === undefined && password === undefined) return undefined;
  return basicCredentials(username ?? '', password?.reveal() ?? '');
}

interface TunnelRequest {
  readonly socket: Socket;
  readonly authority: string;
  readonly credentials: string | undefined;
  readonly limit: number;
  readonly where: string;
}

/** CONNECT (RFC 9110 9.3.6). Destroys the socket on every reply but a 2xx. */
async function askForTunnel({ socket, authority, credentials, limit, where }: TunnelRequest): Promise<void> {
  const authorization = credentials === undefined ? '' : `Proxy-Authorization: ${credentials}\r\n`;
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${authorization}\r\n`, 'latin1');
  const status = await untilReady({ socket, event: 'readable', limit }, createHeadReader(socket)).catch((error: unknown) => {
    if (error instanceof StepTimedOut) throw error;
    const said = error instanceof UnusableAnswer ? error.message : socketFailure(error);
    throw new AddressFailed(`${where}, asked for ${authority}, ${said}`, { cause: error });
  });
  if (status >= 200 && status < 300) return;
  socket.destroy();
  const refusal = `${where} refused a tunnel to ${authority} with status ${status}`;
  if (status !== 407) throw new AddressFailed(refusal);
  throw new CredentialsRefused(
    'upstream-connect-failed',
    `No connection: ${refusal}: it wants other credentials (proxy.username, proxy.password).`,
  );
}

/** By the proxy: nothing has left through it. */
class CredentialsRefused extends GatewayError {}

class UnusableAnswer extends Error {}

/** Undefined until a final reply has arrived (RFC 9110 15.2). */
function createHeadReader(socket: Socket): () => number | undefined {
  let received = '';
  let length = 0;
  return () => {
    for (let chunk = nextChunk(socket); chunk !== undefined; chunk = nextChunk(socket)) {
      length += chunk.length;
      received += chunk.toString('latin1');
    }
    if (length > maxHeadLength) throw new UnusableAnswer('answered with a head that is too long');
    for (let end = received.indexOf('\r\n\r\n'); end !== -1; end = received.indexOf('\r\n\r\n')) {
      const status = Number(/^HTTP\/1\.[01] ([1-5][0-9]{2})(?: |\r\n)/u.exec(received)?.[1] ?? Number.NaN);
      if (Number.isNaN(status)) throw new UnusableAnswer('answered with something that is no HTTP/1.1');
      received = received.slice(end + 4);
      if (status >= 200) return finalStatus(status, received);
    }
    return undefined;
  };
}

/** TLS and HTTP servers do not speak first: such bytes are the proxy's, and would count as the upstream's. */
function finalStatus(status: number, rest: string): number {
  if (status < 300 && rest !== '') throw new UnusableAnswer('sent something before the tunnel was used');
  return status;
}

function nextChunk(socket: Socket): Buffer | undefined {
  const chunk: unknown = socket.read();
  return Buffer.isBuffer(chunk) ? chunk : undefined;
}
