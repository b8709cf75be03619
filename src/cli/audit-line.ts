import type { AuditRecord } from '#audit/audit-reader.ts';
import { visible } from '#base/visible.ts';

/** A record for a person at a terminal: time, outcome, who, what, and what came of it. */
export function auditLine(record: AuditRecord): string {
  const { time, event, outcome, principal, route, verb, adapter, address, status, code, durationMs, detail } = record;
  // What nothing was relayed for has the gateway's own path as its address.
  const target = route?.endsWith(` ${address}`) === true ? undefined : address;
  const what = event === 'request' ? [route, adapter, verb, target] : [`gateway: ${event}`, detail];
  const came = [
    status === undefined ? undefined : `answered ${status}`,
    code,
    durationMs === undefined ? undefined : `${durationMs} ms`,
  ].filter((part) => part !== undefined);
  const columns = [
    time,
    (event === 'request' ? (outcome ?? 'under way') : '').padEnd(9),
    (principal ?? '-').padEnd(16),
    what.filter((part) => part !== undefined).join(' '),
    came.length === 0 ? '' : `(${came.join(', ')})`,
  ];
  return visible(columns.join('  ').trimEnd());
}
