import type { AuditRecord } from '#audit/audit-reader.ts';
import { visible } from '#base/visible.ts';

/** One line for a person at a terminal: time, outcome, principal, call or event, and result. */
export function auditLine(record: AuditRecord): string {
  const { time, event, principal, route, verb, adapter, address, detail } = record;
  // If no call was relayed, the address is the path at the gateway, which the route contains already.
  const target = route?.endsWith(` ${address}`) === true ? undefined : address;
  const what = event === 'request' ? [route, adapter, verb, target] : [`gateway: ${event}`, detail];
  const result = resultOf(record);
  const columns = [
    time,
    (event === 'request' ? shownOutcome(record) : '').padEnd(9),
    (principal ?? '-').padEnd(16),
    what.filter((part) => part !== undefined).join(' '),
    result.length === 0 ? '' : `(${result.join(', ')})`,
  ];
  return visible(columns.join('  ').trimEnd());
}

/** A replay sent nothing: its outcome is that of the first call. */
function shownOutcome({ outcome, replays }: AuditRecord): string {
  return replays === undefined ? (outcome ?? 'under way') : 'replayed';
}

function resultOf({ count, replays, status, code, durationMs }: AuditRecord): readonly string[] {
  return [
    count === undefined ? undefined : `${count} times`,
    replays === undefined ? undefined : `the reply to ${replays}`,
    status === undefined ? undefined : `answered ${status}`,
    code,
    durationMs === undefined ? undefined : `${durationMs} ms`,
  ].filter((part) => part !== undefined);
}
