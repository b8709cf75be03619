import { Counter, Gauge, type Registry } from 'prom-client';

/** Metrics of the audit log: entries that wait for the store, and dropped ones. */
export function measureAudit(registry: Registry, counts: () => { readonly waiting: number; readonly dropped: number }): void {
  const waiting = new Gauge({
    name: 'gateway_audit_entries_waiting',
    help: 'Entries of the audit log that wait to be written to the store.',
    registers: [],
    collect() {
      this.set(counts().waiting);
    },
  });
  let counted = 0;
  const dropped = new Counter({
    name: 'gateway_audit_entries_dropped_total',
    help: 'Dropped entries of the audit log: too many waited for the store.',
    registers: [],
    collect() {
      const now = counts().dropped;
      this.inc(now - counted);
      counted = now;
    },
  });
  registry.registerMetric(waiting);
  registry.registerMetric(dropped);
}
