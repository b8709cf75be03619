import { createPrivateKey, X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import { systemClock } from '#base/clock.ts';
import { Secret } from '#base/secret.ts';
import { defined } from '#base/text/defined.ts';
import { createHandshake, type TlsOptions } from '#outbound/dialling/tls-handshake.ts';
import { memberOf, type Place, report, warn } from './place.ts';
import { readRegularFile } from './regular-file.ts';
import { label } from './scalar-shapes.ts';
import { type Check, mapped, type Shape } from './shape.ts';

const pemFileLimit = 1024 ** 2;

/** Relative to the directory of the configuration file. */
export const path: Shape<string> = mapped(label({ type: 'path', example: './file', atMost: 4096 }), (value, place) =>
  resolve(place.reading.directory, value),
);

export const certificateFile: Shape<string> = mapped(pemFile(certificateFault), inTime('certFile'));

export const authorityFile: Shape<string> = mapped(pemFile(certificateFault), inTime('caFile'));

export const keyFile: Shape<Secret> = mapped(pemFile(keyFault), (pem) => new Secret(pem));

function pemFile(faultOf: (pem: string) => string | undefined): Shape<string> {
  return mapped({ ...path, type: 'path of a PEM file' }, async (name, place) => {
    const read = await readRegularFile(name, pemFileLimit);
    const fault = 'text' in read ? faultOf(read.text) : read.fault;
    if (fault === undefined && 'text' in read) return read.text;
    return report(place, 'text' in read ? `the file ${name} ${fault}` : `the file ${fault}`);
  });
}

function certificateFault(pem: string): string | undefined {
  const blocks = certificatesIn(pem);
  if (blocks.length === 0) return 'holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)';
  const broken = blocks.findIndex((block) => !parses(() => new X509Certificate(block)));
  return broken === -1 ? undefined : `holds a certificate that does not parse (number ${broken + 1})`;
}

/** No connection would succeed with an expired file. */
function inTime(file: CertificateUse): (pem: string, place: Place) => string | undefined {
  return (pem, place) => {
    const expiry = expiryOf(pem, file);
    const date = new Date(expiry).toISOString().slice(0, 10);
    const left = expiry - systemClock.now();
    if (left > 0) {
      const subject = file === 'certFile' ? 'the certificate' : 'the last certificate of the file';
      if (left < warningTime) warn(place, `${subject} expires on ${date}; renew it before`);
      return pem;
    }
    const what = file === 'certFile' ? 'the certificate expired' : 'every certificate of the file has expired, the last';
    return report(place, `${what} on ${date}; renew it`);
  };
}

function keyFault(pem: string): string | undefined {
  if (!/-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----/u.test(pem))
    return 'holds no private key in PEM form (-----BEGIN PRIVATE KEY-----)';
  if (/-----BEGIN ENCRYPTED |^Proc-Type: 4,ENCRYPTED/mu.test(pem))
    return 'holds an encrypted key; decrypt it and protect the file by its permissions';
  return parses(() => createPrivateKey(pem)) ? undefined : 'holds a private key that does not parse';
}

function parses(parse: () => unknown): boolean {
  try {
    parse();
    return true;
  } catch {
    return false;
  }
}

export const certificateWithKey: Check = (place) => {
  const [cert, key] = [memberOf(place, 'certFile'), memberOf(place, 'keyFile')];
  if (cert !== undefined && key === undefined) report(cert, 'needs keyFile');
  if (key !== undefined && cert === undefined) report(key, 'needs certFile');
};

/** The key belongs to the first certificate, and OpenSSL accepts both. Else reports a problem. */
export function isPair(place: Place, cert: string, key: Secret): boolean {
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key.reveal()))) {
    report(memberOf(place, 'keyFile') ?? place, 'does not belong to the certificate of certFile');
    return false;
  }
  try {
    createHandshake({ cert, key, verify: true });
    return true;
  } catch (error) {
    report(
      memberOf(place, 'certFile') ?? place,
      `cannot be used for TLS (${opensslReason(error)}); use another certificate and key`,
    );
    return false;
  }
}

/** Such as `ee key too small`. */
function opensslReason(error: unknown): string {
  const reason = error instanceof Error && 'reason' in error ? error.reason : undefined;
  return typeof reason === 'string' ? reason : 'OpenSSL refuses it';
}

interface ClientTlsFiles {
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: Secret;
  readonly serverName?: string;
  readonly verify?: boolean;
}

export function clientTls(files: ClientTlsFiles, place: Place): TlsOptions | undefined {
  const { caFile: ca, certFile: cert, keyFile: key, serverName, verify = true } = files;
  if (!verify) {
    warn(
      memberOf(place, 'verify') ?? place,
      'certificates are not verified: any host on the network path can read and change the calls',
    );
  }
  if (cert !== undefined && key !== undefined && !isPair(place, cert, key)) return undefined;
  return { ...defined({ ca, cert, key, serverName }), verify };
}

/** Of the gateway itself, or of authorities. */
type CertificateUse = 'certFile' | 'caFile';

/** Milliseconds; the alert rule has the same. */
const warningTime = 14 * 86_400_000;

function certificatesIn(pem: string): readonly string[] {
  return pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/gu) ?? [];
}

/** Milliseconds since the epoch: the first certificate, or the last of the authorities. Peers often find another chain. */
export function expiryOf(pem: string, file: CertificateUse): number {
  const times = certificatesIn(pem).map((block) => Date.parse(new X509Certificate(block).validTo));
  return file === 'caFile' ? Math.max(...times) : (times[0] ?? Number.NaN);
}
