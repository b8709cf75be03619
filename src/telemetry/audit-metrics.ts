import { Counter, Gauge, type Registry } from 'prom-client';
import type { AuditCounts } from '#audit/audit-log.ts';

/** Metrics of the audit log: entries that wait for the store, dropped ones, and refusals that have no record of their own. */
export function measureAudit(registry: Registry, counts: () => AuditCounts): void {
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
  const refusals = { repeated: 0, withoutRoom: 0 };
  const notStored = new Counter({
    name: 'gateway_audit_refusals_not_stored_total',
    help: 'Refusals that have no record of their own in the audit log, by reason.',
    labelNames: ['reason'],
    registers: [],
    collect() {
      const { repeated, withoutRoom } = counts();
      this.inc({ reason: 'repeated' }, repeated - refusals.repeated);
      this.inc({ reason: 'no-room' }, withoutRoom - refusals.withoutRoom);
      Object.assign(refusals, { repeated, withoutRoom });
    },
  });
  for (const metric of [waiting, dropped, notStored]) registry.registerMetric(metric);
}
