import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { GatewayError } from '#base/gateway-error.ts';
import { systemCode } from '#base/system-code.ts';

/** 502 `upstream-tls-failed` with the cause in words and, where there is one, a remedy. */
export function tlsFailure(error: unknown, what: string, name: string): GatewayError {
  const code = systemCode(error) ?? 'unknown cause';
  const words = certificateFaults.get(code)?.(name) ?? protocolFault(code);
  return new GatewayError('upstream-tls-failed', `${what} failed: ${words} (${code}).`, { cause: error });
}

/**
 * The error for a far side that refused the client certificate in a TLS 1.3 handshake; undefined for any other error. The gateway gets that
 * alert only after the handshake has ended on its own side. The far side has not read bytes sent until then as a request. It accepts
 * application data only after the client's Certificate and Finished (RFC 8446 2).
 */
export function certificateRefused(error: NodeJS.ErrnoException, socket: Socket, name: string): GatewayError | undefined {
  const refused = clientCertificateFaults.some((pattern) => pattern.test(error.code ?? ''));
  // `bytesRead` counts application data: once a byte of it arrived, the far side had accepted the certificate.
  if (!refused || !(socket instanceof TLSSocket) || socket.getProtocol() !== 'TLSv1.3' || socket.bytesRead > 0) return undefined;
  return tlsFailure(error, `TLS with the far side ${name}`, name);
}

const clientCertificateFaults = [
  /ALERT_CERTIFICATE_REQUIRED/u,
  /ALERT_(UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_(UNKNOWN|EXPIRED|REVOKED)|UNSUPPORTED_CERTIFICATE)/u,
] as const;

const unknownAuthority =
  'its certificate is from an unknown authority: have the CA that signed it configured (tls.caFile), or the server send its intermediate certificates';

/** By OpenSSL's verification codes, which Node passes on, and by Node's own code for a wrong name. */
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

/** By a part of the code: OpenSSL writes alerts as ERR_SSL_(SSL/TLS|TLSV1|TLSV13|SSLV3)_ALERT_…, differently in each release. */
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
