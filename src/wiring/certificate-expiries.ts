import { expiryOf } from '#config/certificate-expiry.ts';
import type { Config } from '#config/config.ts';
import type { CertificateExpiry } from '#telemetry/gauges.ts';

type WithCertificates = Pick<Config, 'server' | 'outbound' | 'adapters'>;

/** When the certificates of the configuration in force expire. */
export interface CertificateExpiries {
  (): readonly CertificateExpiry[];
  /** To be called with each new configuration. */
  follow(next: WithCertificates): void;
}

export function createCertificateExpiries(config: WithCertificates): CertificateExpiries {
  let current = expiriesIn(config);
  return Object.assign(() => current, {
    follow(next: WithCertificates) {
      current = expiriesIn(next);
    },
  });
}

function expiriesIn({ server, outbound, adapters }: WithCertificates): readonly CertificateExpiry[] {
  return [
    ...filesOf('server', '', server.tls),
    ...filesOf('outbound', '', outbound.tls),
    ...adapters.flatMap(({ name, tls }) => filesOf('adapter', name, tls)),
  ];
}

function filesOf(
  use: CertificateExpiry['use'],
  adapter: string,
  { cert, ca }: { readonly cert?: string | undefined; readonly ca?: string | undefined } = {},
): readonly CertificateExpiry[] {
  const expiry = (file: CertificateExpiry['file'], pem: string | undefined): readonly CertificateExpiry[] =>
    pem === undefined ? [] : [{ use, adapter, file, expiresAt: expiryOf(pem, file) }];
  return [...expiry('certFile', cert), ...expiry('caFile', ca)];
}
