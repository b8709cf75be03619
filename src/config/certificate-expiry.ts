import { X509Certificate } from 'node:crypto';

/** The key that names a file with certificates: those of the gateway itself, or those of authorities. */
export type CertificateUse = 'certFile' | 'caFile';

/** Milliseconds before the expiry from which on there is a warning; the alert rule has the same time. */
export const warningTime = 14 * 86_400_000;

export function certificatesIn(pem: string): readonly string[] {
  return pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/gu) ?? [];
}

/**
 * Milliseconds since the epoch at which the file becomes useless. That is the expiry of its first certificate, or of the last of its
 * authorities. The other certificates of a chain do not count, because peers often find another chain.
 */
export function expiryOf(pem: string, file: CertificateUse): number {
  const times = certificatesIn(pem).map((block) => Date.parse(new X509Certificate(block).validTo));
  return file === 'caFile' ? Math.max(...times) : (times[0] ?? Number.NaN);
}
