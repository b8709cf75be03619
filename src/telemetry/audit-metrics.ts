import { Counter, type Registry } from 'prom-client';
import type { AuditCounts } from '#audit/audit-log.ts';
import { figure } from './gauges.ts';

/** Metrics of the audit log: entries that wait for the store, dropped ones, and refusals that have no record of their own. */
export function measureAudit(registry: Registry, counts: () => AuditCounts): void {
  figure(registry, 'gateway_audit_entries_waiting', 'Entries of the audit log that wait to be written to the store.', () => {
    return counts().waiting;
  });
  const dropped = new Counter({
    name: 'gateway_audit_entries_dropped_total',
    help: 'Dropped entries of the audit log: too many waited for the store.',
    registers: [],
    collect() {
      this.reset();
      this.inc(counts().dropped);
    },
  });
  const notStored = new Counter({
    name: 'gateway_audit_refusals_not_stored_total',
    help: 'Refusals that have no record of their own in the audit log, by reason.',
    labelNames: ['reason'],
    registers: [],
    collect() {
      const { repeated, withoutRoom } = counts();
      this.reset();
      this.inc({ reason: 'repeated' }, repeated);
      this.inc({ reason: 'no-room' }, withoutRoom);
    },
  });
  for (const metric of [dropped, notStored]) registry.registerMetric(metric);
}
