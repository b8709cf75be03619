import { visible } from '#base/text/visible.ts';
import type { AuditRecord } from '#client/gateway.ts';
import { counted } from './progress-line.ts';

/** One line for a person at a terminal: time, outcome, principal, call or event, and result. */
export function auditLine(record: AuditRecord): string {
  const { time, event, principal, route, verb, adapter, address, detail, reason } = record;
  // If no call was relayed, the address is the path at the gateway, which the route contains already.
  const target = route?.endsWith(` ${address}`) === true ? undefined : address;
  const about = [...objectsOf(record), ...(reason === undefined ? [] : [`reason: ${reason}`])];
  const what =
    event === 'request' ? [route, adapter, verb, target, ...about] : [`gateway: ${event}`, ...objectsOf(record), detail];
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

/** What the record is about, by its names. */
function objectsOf({ automation, workflow, form, approval, run }: AuditRecord): readonly string[] {
  const version = workflow?.version === undefined ? '' : ` ${workflow.version}`;
  const named = [
    ['automation', automation?.name],
    ['workflow', workflow && `${workflow.name}${version}`],
    ['form', form?.name],
    ['approval', approval?.name],
    ['run', run?._id],
  ] as const;
  return named.flatMap(([kind, name]) => (name === undefined ? [] : [`${kind} ${JSON.stringify(name)}`]));
}

/** A replay sent nothing: its outcome is that of the first call. */
function shownOutcome({ outcome, replays }: AuditRecord): string {
  return replays === undefined ? (outcome ?? 'under way') : 'replayed';
}

function resultOf({ count, replays, status, code, durationMs }: AuditRecord): readonly string[] {
  return [
    count === undefined ? undefined : counted(count, 'time'),
    replays === undefined ? undefined : `the reply to ${replays}`,
    status === undefined ? undefined : `answered ${status}`,
    code,
    durationMs === undefined ? undefined : `${durationMs} ms`,
  ].filter((part) => part !== undefined);
}
