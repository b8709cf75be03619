import { Counter, Gauge, type Registry } from 'prom-client';

/** Records that are not in the store yet, and those that never will be. */
export function measureAudit(registry: Registry, counts: () => { readonly waiting: number; readonly dropped: number }): void {
  const waiting = new Gauge({
    name: 'gateway_audit_entries_waiting',
    help: 'Entries of the audit log that are not written yet.',
    registers: [],
    collect() {
      this.set(counts().waiting);
    },
  });
  let told = 0;
  const dropped = new Counter({
    name: 'gateway_audit_entries_dropped_total',
    help: 'Entries of the audit log that were dropped: more waited for the store than there is room for.',
    registers: [],
    collect() {
      const now = counts().dropped;
      this.inc(now - told);
      told = now;
    },
  });
  registry.registerMetric(waiting);
  registry.registerMetric(dropped);
}
