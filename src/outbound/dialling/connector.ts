import { isIP, type Socket } from 'node:net';
import { type Clock, systemClock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { type DestinationDecision, type DestinationPolicy, deniedError, hostAndPort } from '../policy/destination-policy.ts';
import { ConnectDeadline, type Dial, dialDirectly, dialEach, dialOne } from './dial.ts';
import { createProxy, type ProxyOptions } from './proxy-connect.ts';
import type { Resolve } from './resolver.ts';
import { createHandshake, type TlsOptions } from './tls-handshake.ts';

/** Opens a connection to `scheme://host[:port]`. */
export type Connect = (origin: string) => Promise<Socket>;

interface ConnectorOptions {
  /** Absent for adapters, whose upstream the operator named. */
  readonly policy?: DestinationPolicy;
  readonly resolve: Resolve;
  /** Milliseconds. `connect`: dialling, a proxy's reply and TLS together. */
  readonly timeouts: { readonly dns: number; readonly connect: number };
  readonly tls?: TlsOptions;
  readonly proxy?: ProxyOptions;
  readonly clock?: Clock;
  readonly dial?: Dial;
  /** After look-ups (at once for an address), the connection or tunnel, and TLS. */
  readonly onStep?: (step: ConnectStep) => void;
}

export type ConnectStep = 'dns' | 'connect' | 'proxy' | 'tls';

interface Target {
  /** Without brackets. */
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
}

/** Dials only checked addresses: one look-up, a decision on each address, then these in order. TLS checks the name of the URI. Rejects with `destination-denied` or `upstream-*`, and leaves no socket open. Throws at once for invalid PEM texts or proxy URLs. */
export function createConnector(options: ConnectorOptions): Connect {
  const { policy, resolve, timeouts, clock = systemClock, dial = dialDirectly, onStep } = options;
  const handshake = createHandshake(options.tls ?? { verify: true });
  const proxy =
    options.proxy === undefined
      ? undefined
      : createProxy({ proxy: options.proxy, ca: options.tls?.ca, dial, resolve, dnsTimeout: timeouts.dns });

  async function open(target: Target): Promise<Socket> {
    const { host, port, secure } = target;
    const addresses = await checkedAddresses(target);
    const proxyAddresses = (await proxy?.addresses()) ?? [];
    onStep?.('dns');
    const deadline = new ConnectDeadline(timeouts.connect, clock);
    const openOne = (address: string, limit: number): Promise<Socket> =>
      proxy === undefined
        ? dialOne({ dial, address, port, limit, pinned: policy !== undefined })
        : proxy.tunnel(hostAndPort(address, port), proxyAddresses, deadline, limit);
    const socket = await dialEach({ addresses, port, deadline, way: proxy?.way ?? '', open: openOne });
    onStep?.(proxy === undefined ? 'connect' : 'proxy');
    if (!secure) return socket;
    const encrypted = await handshake(socket, { host, port, deadline });
    onStep?.('tls');
    return encrypted;
  }

  /** To dial, or to name to the proxy. One denied address denies the name. */
  async function checkedAddresses({ host, port }: Target): Promise<readonly string[]> {
    const addresses = isIP(host) === 0 ? await addressesOf(host, port) : [host];
    if (addresses === undefined) return [host];
    for (const address of addresses) permit(policy?.decideAddress({ host, address, port }));
    // Dialling a name would start a second look-up, whose addresses no policy checks.
    if (addresses.length === 0 || addresses.some((address) => isIP(address) === 0)) {
      throw new GatewayError('upstream-dns-failed', `The host name ${host} resolves to no usable address.`);
    }
    return addresses;
  }

  /** Undefined where the proxy resolves the name. */
  async function addressesOf(name: string, port: number): Promise<readonly string[] | undefined> {
    permit(policy?.decideName(name, port));
    return proxy?.resolves === true ? undefined : await resolve(name, { timeout: timeouts.dns });
  }

  return async (origin) => {
    const url = new URL(origin);
    try {
      return await open(readTarget(url));
    } catch (error) {
      throw asGatewayError(error, url);
    }
  };
}

/** Undefined where only the look-up decides. The connector decides again when it dials; this answers before a call costs anything. */
export function refusalBeforeLookup(policy: DestinationPolicy, url: URL): GatewayError | undefined {
  const { host, port } = readTarget(url);
  const decision = isIP(host) === 0 ? policy.decideName(host, port) : policy.decideAddress({ host, address: host, port });
  return decision.allowed ? undefined : deniedError(decision);
}

function readTarget({ hostname, port, protocol }: URL): Target {
  const secure = protocol === 'https:';
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return { host, port: port === '' ? (secure ? 443 : 80) : Number(port), secure };
}

function permit(decision: DestinationDecision | undefined): void {
  if (decision?.allowed === false) throw deniedError(decision);
}

function asGatewayError(error: unknown, { hostname }: URL): GatewayError {
  if (error instanceof GatewayError) return error;
  return new GatewayError('upstream-connect-failed', `No connection to ${hostname} could be made.`, { cause: error });
}
