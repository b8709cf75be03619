import type { AuditRecord } from '#audit/audit-reader.ts';
import { visible } from '#base/visible.ts';

/** One line for a person at a terminal: time, outcome, principal, call or event, and result. */
export function auditLine(record: AuditRecord): string {
  const { time, event, outcome, principal, route, verb, adapter, address, status, code, durationMs, detail } = record;
  // If no call was relayed, the address is the path at the gateway, which the route contains already.
  const target = route?.endsWith(` ${address}`) === true ? undefined : address;
  const what = event === 'request' ? [route, adapter, verb, target] : [`gateway: ${event}`, detail];
  const result = [
    status === undefined ? undefined : `answered ${status}`,
    code,
    durationMs === undefined ? undefined : `${durationMs} ms`,
  ].filter((part) => part !== undefined);
  const columns = [
    time,
    (event === 'request' ? (outcome ?? 'under way') : '').padEnd(9),
    (principal ?? '-').padEnd(16),
    what.filter((part) => part !== undefined).join(' '),
    result.length === 0 ? '' : `(${result.join(', ')})`,
  ];
  return visible(columns.join('  ').trimEnd());
}
