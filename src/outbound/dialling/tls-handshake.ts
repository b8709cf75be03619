import { isIP, type Socket } from 'node:net';
import { connect, createSecureContext, getCACertificates, type SecureContext, TLSSocket } from 'node:tls';
import { GatewayError } from '#base/gateway-error.ts';
import type { Secret } from '#base/secret.ts';
import { systemCode } from '#base/system-code.ts';
import { defined } from '#base/text/defined.ts';
import { type ConnectDeadline, StepTimedOut, untilReady } from './dial.ts';

/** PEM texts. */
export interface TlsOptions {
  /** Replaces Node's own roots: a private CA is trusted alone. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: Secret;
  /** For SNI (RFC 6066) and the check of the certificate, in place of the URI's host. */
  readonly serverName?: string;
  /** False accepts any certificate. */
  readonly verify: boolean;
}

/** Or destroys the socket and rejects with `upstream-tls-failed` or `upstream-timeout`. */
export type Handshake = (
  socket: Socket,
  peer: { readonly host: string; readonly port: number; readonly deadline: ConnectDeadline },
) => Promise<TLSSocket>;

/** TLS 1.2 or newer, sessions resumed by host and port. NODE_TLS_REJECT_UNAUTHORIZED has no effect. Throws at once for invalid PEM texts. */
export function createHandshake(tls: TlsOptions, peerIs: 'upstream' | 'proxy' = 'upstream'): Handshake {
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
        // The name that the certificate must have: with `socket` Node does not dial.
        host: name,
        // No literal addresses in SNI (RFC 6066 3).
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

/** For a proxy or a token endpoint, which may have a certificate of either. */
export function tlsBesideOwn(ca: string | undefined): TlsOptions {
  return ca === undefined ? { verify: true } : { ca: [...getCACertificates('default'), ca].join('\n'), verify: true };
}

function createContext({ ca, cert, key }: TlsOptions): SecureContext {
  return createSecureContext(defined({ minVersion: 'TLSv1.2', ca, cert, key: key?.reveal() }));
}

function withoutTrailingDot(name: string): string {
  return name.endsWith('.') ? name.slice(0, -1) : name;
}

/** For up to 100 hosts. The key has host and port, because a resumed session skips the name check. */
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

/** With the cause in words and a remedy. */
function tlsFailure(error: unknown, what: string, name: string): GatewayError {
  const code = systemCode(error) ?? 'unknown cause';
  const words = certificateFaults.get(code)?.(name) ?? protocolFault(code);
  return new GatewayError('upstream-tls-failed', `${what} failed: ${words} (${code}).`, { cause: error });
}

/** For an upstream that refused the client certificate. In TLS 1.3 that alert comes after our handshake has ended, and bytes sent before it are no request for the upstream (RFC 8446 2). Undefined for other errors. */
export function certificateRefused(error: NodeJS.ErrnoException, socket: Socket, name: string): GatewayError | undefined {
  const refused = clientCertificateFaults.some((pattern) => pattern.test(error.code ?? ''));
  // A byte of application data shows that the certificate was accepted.
  if (!refused || !(socket instanceof TLSSocket) || socket.getProtocol() !== 'TLSv1.3' || socket.bytesRead > 0) return undefined;
  return tlsFailure(error, `TLS with the upstream ${name}`, name);
}

const clientCertificateFaults = [
  /ALERT_CERTIFICATE_REQUIRED/u,
  /ALERT_(UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_(UNKNOWN|EXPIRED|REVOKED)|UNSUPPORTED_CERTIFICATE)/u,
] as const;

const unknownAuthority =
  'its certificate is from an unknown authority: have the CA that signed it configured (tls.caFile), or the server send its intermediate certificates';

/** OpenSSL's verification codes, and Node's for a wrong name. */
const certificateFaults: ReadonlyMap<string, (name: string) => string> = new Map([
  ['CERT_HAS_EXPIRED', () => 'its certificate, or one above it, has expired'],
  ['CERT_NOT_YET_VALID', () => 'its certificate, or one above it, is not valid yet'],
  [
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    () => 'its certificate is self-signed: have that certificate configured as a CA (tls.caFile) if it is the right one',
  ],
  ['SELF_SIGNED_CERT_IN_CHAIN', () => unknownAuthority],
  ['UNABLE_TO_GET_ISSUER_CERT', () => unknownAuthority],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', () => unknownAuthority],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', () => unknownAuthority],
  ['CERT_UNTRUSTED', () => unknownAuthority],
  ['CERT_REVOKED', () => 'its certificate is revoked'],
  ['CERT_SIGNATURE_FAILURE', () => 'the signature of its certificate is wrong'],
  ['INVALID_CA', () => 'a certificate of its chain may not sign others'],
  ['INVALID_PURPOSE', () => 'its certificate is not meant for a TLS server'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', (name: string) => `its certificate has the wrong name: it is not for ${name}`],
]);

/** A part of the code: each release of OpenSSL names alerts differently. */
const protocolFaults: readonly (readonly [RegExp, string])[] = [
  [
    /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST|RECORD_LAYER_FAILURE|UNEXPECTED_MESSAGE/u,
    'what answers is no TLS; is it plain HTTP on this port?',
  ],
  [
    /PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|VERSION_TOO_LOW/u,
    'no common protocol version: the gateway speaks TLS 1.2 and 1.3 only',
  ],
  [/CERTIFICATE_REQUIRED/u, 'it requires a client certificate (tls.certFile, tls.keyFile)'],
  [
    /UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_(UNKNOWN|EXPIRED|REVOKED)|UNSUPPORTED_CERTIFICATE/u,
    "it does not take the gateway's client certificate",
  ],
  [/UNRECOGNIZED_NAME/u, 'it does not know the name it was asked for; set the right one (tls.serverName of an adapter)'],
  [
    /HANDSHAKE_FAILURE|NO_SHARED_CIPHER|INSUFFICIENT_SECURITY|KEY_TOO_SMALL|NO_CIPHERS/u,
    'the two sides have no algorithms in common, or it requires a client certificate',
  ],
  [/NO_APPLICATION_PROTOCOL/u, 'it does not speak HTTP/1.1 (ALPN)'],
  [/^(ECONNRESET|EPIPE)$/u, 'it closed the connection during the handshake'],
];

function protocolFault(code: string): string {
  return protocolFaults.find(([pattern]) => pattern.test(code))?.[1] ?? 'the handshake did not succeed';
}
