import { Gauge, type Registry } from 'prom-client';

/** When a file with certificates becomes useless. */
export interface CertificateExpiry {
  /** The part of the gateway that uses the file. `outbound` is restCall. */
  readonly use: 'server' | 'outbound' | 'adapter';
  /** The adapter instance, or empty. */
  readonly adapter: string;
  /** The key of the configuration that names the file. */
  readonly file: 'certFile' | 'caFile';
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** `expiries` is read at each scrape: a reload may have replaced certificates. */
export function measureCertificates(registry: Registry, expiries: () => readonly CertificateExpiry[]): void {
  const gauge = new Gauge({
    name: 'gateway_certificate_expiry_timestamp_seconds',
    help: 'When the certificates of a file of the configuration expire, in seconds since 1970.',
    labelNames: ['use', 'adapter', 'file'],
    registers: [],
    collect() {
      this.reset();
      for (const { use, adapter, file, expiresAt } of expiries()) this.set({ use, adapter, file }, expiresAt / 1000);
    },
  });
  registry.registerMetric(gauge);
}
