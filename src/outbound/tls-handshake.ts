import { isIP, type Socket } from 'node:net';
import { connect, createSecureContext, getCACertificates, type SecureContext, type TLSSocket } from 'node:tls';
import type { Secret } from '#base/secret.ts';
import { type ConnectDeadline, StepTimedOut, untilReady } from './connect-deadline.ts';
import { tlsFailure } from './tls-failure.ts';

/** TLS towards a far side. PEM texts. */
export interface TlsOptions {
  /** Replaces Node's own root certificates, as in Node: a far side with a private CA is trusted by that CA alone. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: Secret;
  /** Name to send (SNI, RFC 6066) and to find in the certificate, in place of the URI's host. */
  readonly serverName?: string;
  /** False takes any certificate. */
  readonly verify: boolean;
}

/** Turns a connected socket into a TLS one, or destroys it and fails with `upstream-tls-failed` or `upstream-timeout`. */
export type Handshake = (
  socket: Socket,
  peer: { readonly host: string; readonly port: number; readonly deadline: ConnectDeadline },
) => Promise<TLSSocket>;

/**
 * Prepares handshakes by these options: TLS 1.2 or newer, certificate and name checked whatever NODE_TLS_REJECT_UNAUTHORIZED says,
 * sessions resumed by host and port. Throws at once where a PEM text cannot be read. `peerIs` begins the sentences of errors.
 */
export function createHandshake(tls: TlsOptions, peerIs: 'far side' | 'proxy' = 'far side'): Handshake {
  const secureContext = createContext(tls);
  const sessions = new SessionCache();
  return async (socket, { host, port, deadline }) => {
    const name = withoutTrailingDot(tls.serverName ?? host);
    const sessionKey = `${host}:${port}`;
    const start = (): TLSSocket => {
      const session = sessions.get(sessionKey);
      const secured = connect({
        socket,
        secureContext,
        // With `socket` given nothing is dialled: `host` is the name (or address) that the certificate must be for.
        host: name,
        // RFC 6066 3: no literal address in SNI.
        ...(isIP(name) === 0 ? { servername: name } : {}),
        ...(session === undefined ? {} : { session }),
        rejectUnauthorized: tls.verify,
        ALPNProtocols: ['http/1.1'],
      });
      return secured.on('session', (fresh) => sessions.set(sessionKey, fresh));
    };
    try {
      const secured = start();
      return await untilReady({ socket: secured, event: 'secureConnect', limit: deadline.remaining() }, () => secured);
    } catch (error) {
      socket.destroy();
      sessions.delete(sessionKey);
      if (error instanceof StepTimedOut) throw deadline.expired(`the TLS handshake with ${peerIs} ${name}:${port}`);
      throw tlsFailure(error, `TLS with the ${peerIs} ${name}:${port}`, name);
    }
  };
}

/** The given CA and Node's own are both good: for a proxy or a token endpoint, which serve others than one far side as well. */
export function tlsBesideOwn(ca: string | undefined): TlsOptions {
  return ca === undefined ? { verify: true } : { ca: [...getCACertificates('default'), ca].join('\n'), verify: true };
}

function createContext({ ca, cert, key }: TlsOptions): SecureContext {
  return createSecureContext({
    minVersion: 'TLSv1.2',
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key: key.reveal() }),
  });
}

function withoutTrailingDot(name: string): string {
  return name.endsWith('.') ? name.slice(0, -1) : name;
}

/** The last session of each of the 100 hosts that gave one last. A resumed session skips the name check, so a key is one host and port. */
class SessionCache {
  readonly #sessions = new Map<string, Buffer>();

  get(key: string): Buffer | undefined {
    return this.#sessions.get(key);
  }

  set(key: string, session: Buffer): void {
    this.#sessions.delete(key);
    this.#sessions.set(key, session);
    if (this.#sessions.size <= 100) return;
    const [oldest] = this.#sessions.keys();
    if (oldest !== undefined) this.#sessions.delete(oldest);
  }

  delete(key: string): void {
    this.#sessions.delete(key);
  }
}
