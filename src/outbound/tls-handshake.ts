import { isIP, type Socket } from 'node:net';
import { connect, createSecureContext, getCACertificates, type SecureContext, type TLSSocket } from 'node:tls';
import type { Secret } from '#base/secret.ts';
import { type ConnectDeadline, StepTimedOut, untilReady } from './connect-deadline.ts';
import { tlsFailure } from './tls-failure.ts';

/** TLS to a far side. `ca`, `cert` and `key` are PEM texts. */
export interface TlsOptions {
  /** Replaces Node's own root certificates, as in Node: a far side with a private CA is trusted by that CA alone. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: Secret;
  /** The name for SNI (RFC 6066) and for the check of the certificate, in place of the URI's host. */
  readonly serverName?: string;
  /** False accepts any certificate. */
  readonly verify: boolean;
}

/** Turns a connected socket into a TLS one, or destroys it and rejects with `upstream-tls-failed` or `upstream-timeout`. */
export type Handshake = (
  socket: Socket,
  peer: { readonly host: string; readonly port: number; readonly deadline: ConnectDeadline },
) => Promise<TLSSocket>;

/**
 * Prepares handshakes with these options: TLS 1.2 or newer, sessions resumed by host and port. NODE_TLS_REJECT_UNAUTHORIZED does not change
 * the check of certificate and name. Throws at once where a PEM text is invalid. `peerIs` names the peer in errors.
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
        // With `socket` Node does not dial: `host` is the name or address that the certificate must have.
        host: name,
        // RFC 6066 3: SNI has no literal addresses.
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

/** Trusts the given CA and Node's own: for a proxy or a token endpoint, which may have a certificate of either. */
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

/** The last session of up to 100 hosts, those that sent one last. A key is one host and port, because a resumed session skips the name check. */
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
