import { setTimeout as sleep } from 'node:timers/promises';
import { type AuditRecord, type Gateway, GatewayError, type ListAuditData } from '#client/gateway.ts';
import { gatewayCommand, givenOptions, limitOption, readLimit } from '../../gateway-command.ts';
import type { GatewaySession } from '../../gateway-session.ts';
import { print } from '../../output.ts';
import { auditLine } from '../../texts/audit-line.ts';

const filters = ['from', 'to', 'timeZone', 'principal', 'object', 'device', 'adapter', 'address', 'search', 'outcome'] as const;
/** Milliseconds between two polls, and the longest delay after which a record may appear behind one with a later time. */
const [pollInterval, maxDelay] = [1_000, 15_000];
/** Records of a request. */
const most = 1_000;

export const auditList = gatewayCommand({
  name: 'audit list',
  summary: 'print the records of the audit log',
  description: [
    'Print records of the audit log, oldest first: one line each on a terminal, otherwise NDJSON with every',
    'field of a record. You need the role admin, or a right to listAudit.',
  ],
  options: {
    from: {
      value: 'TIME',
      default: '',
      meaning: 'only records of this time or later, such as 2026-11-21 or 2026-11-21T08:00:00Z',
    },
    to: { value: 'TIME', default: '', meaning: 'only records of this time or earlier; a day is included' },
    timeZone: { value: 'ZONE', default: '', meaning: 'of these days, such as Europe/Berlin; by default UTC' },
    principal: { value: 'NAME', default: '', meaning: 'only records of the principal with this name' },
    object: {
      value: 'NAME',
      default: '',
      meaning: 'only records of this automation, workflow, form, approval or run: its name or id',
    },
    device: { value: 'NAME', default: '', meaning: 'only changes of this device' },
    adapter: { value: 'NAME', default: '', meaning: 'only calls to this adapter instance' },
    address: {
      value: 'TEXT',
      default: '',
      meaning: 'only records with this text in their address or in the name of what they are about, such as a device',
    },
    search: {
      value: 'TEXT',
      default: '',
      meaning: 'only records with this text in address, objects, devices, principal or detail',
    },
    outcome: {
      value: 'OUTCOME',
      default: '',
      meaning: 'only calls with this outcome: ok, refused, failed or unknown',
      values: ['ok', 'refused', 'failed', 'unknown'],
    },
    limit: { ...limitOption, default: '100' },
  },
  flags: {
    follow: 'continue to print new records until interrupted',
    json: 'print one JSON array; not with --follow',
    ndjson: 'print NDJSON on a terminal too',
  },
  async work(session) {
    const { context, given, gateway } = session;
    const query = givenOptions<Query>(given, filters);
    const newest = await newestOf(gateway, query, readLimit(given.option('limit')));
    if (given.flag('json') && !given.flag('follow')) {
      await print(context.stdout, `${JSON.stringify(newest, undefined, 2)}\n`);
      return 0;
    }
    for (const record of newest) await show(session, record);
    if (given.flag('follow')) await follow(session, query);
    return 0;
  },
});

type Query = NonNullable<ListAuditData['query']>;

async function show({ context, given }: GatewaySession, record: AuditRecord): Promise<void> {
  const isLine = context.printsToTerminal && !given.flag('ndjson');
  await print(context.stdout, `${isLine ? auditLine(record) : JSON.stringify(record)}\n`);
}

/** The oldest first. */
async function newestOf(gateway: Gateway, query: Query, limit = Infinity): Promise<readonly AuditRecord[]> {
  const found: AuditRecord[] = [];
  for await (const record of gateway.each.listAudit({ query: { ...query, limit: Math.min(limit, most) } })) {
    found.push(record);
    if (found.length === limit) break;
  }
  return found.toReversed();
}

/**
 * Prints each record that is new, and each call when it ends. The outcome of a call is unknown until it ends, so the gateway is not asked
 * for one.
 */
async function follow(session: GatewaySession, { outcome, ...query }: Query): Promise<void> {
  const { complain, wordsFor, gateway, context } = session;
  const { value } = await gateway.listAudit({ query: { ...query, limit: most } });
  const poll = newRecords(value.list);
  let isAway = false;
  await context.untilInterrupted(async (interruption) => {
    for (;;) {
      // An interruption ends the wait.
      await sleep(pollInterval, undefined, { signal: interruption }).catch(() => {});
      if (interruption.aborted) return;
      try {
        const records = await poll((from) => newestOf(gateway, { ...query, from }));
        isAway = false;
        for (const record of records) if (outcome === undefined || outcome === record.outcome) await show(session, record);
      } catch (error) {
        if (!(error instanceof GatewayError) || !error.isTemporary) throw error;
        if (!isAway) complain(`${wordsFor(error)} The command continues when the gateway is back.`);
        isAway = true;
      }
    }
  });
}

type ReadSince = (from: string) => Promise<readonly AuditRecord[]>;

/** Each call of the function answers the records that ended since the last one. `known`: those that are there at the beginning. */
function newRecords(known: readonly AuditRecord[]): (read: ReadSince) => Promise<readonly AuditRecord[]> {
  let since = Math.min(recent(), ...underWay(known));
  const shown = new Map(known.filter(hasEnded).map(({ id, time }) => [id, Date.parse(time)]));
  return async (read) => {
    const records = await read(new Date(since).toISOString());
    const found = records.filter((record) => hasEnded(record) && !shown.has(record.id));
    for (const { id, time } of found) shown.set(id, Date.parse(time));
    since = Math.max(since, Math.min(recent(), ...underWay(records)));
    for (const [id, at] of shown) if (at < since) shown.delete(id);
    return found;
  };
}

/** When calls began that have not ended. */
function underWay(records: readonly AuditRecord[]): readonly number[] {
  return records.filter((record) => !hasEnded(record)).map(({ time }) => Date.parse(time));
}

/** Records from this time on may still be followed by records with an earlier time. Milliseconds since the epoch. */
function recent(): number {
  return Date.now() - maxDelay;
}

function hasEnded({ event, outcome }: AuditRecord): boolean {
  return event !== 'request' || outcome !== undefined;
}
