import { setTimeout as sleep } from 'node:timers/promises';
import { visible, visibleLines } from '#base/text/visible.ts';
import { type AuditBody, type AuditRecord, type Gateway, GatewayError, type ListAuditData } from '#client/gateway.ts';
import { answeringCommand, gatewayCommand, givenOptions, limitOption, readLimit } from '../../gateway-command.ts';
import { CommandFailed, exact, type GatewaySession } from '../../gateway-session.ts';
import { quoted } from '../../name-lookup.ts';
import { print } from '../../output.ts';
import { counted } from '../../texts/progress-line.ts';
import { type Fact, factLines } from '../../texts/text-table.ts';

export const auditShow = answeringCommand({
  name: 'audit show',
  summary: 'print a record of the audit log, and what its change sent',
  description: [
    'Print a record, and the body that its change sent, where the log keeps it. ID is that of "audit list",',
    'or the commit label og-ID at the orchestrator.',
  ],
  operands: ['ID'],
  async answer({ gateway, given, wordsFor }) {
    const id = given.operand('ID').replace(/^og-/u, '');
    const [record] = exact(await gateway.listAudit({ query: { id, limit: 1 } })).list;
    if (record === undefined) throw new CommandFailed(`there is no record ${quoted(id)}`);
    const sent = record.bodySha256 === undefined ? undefined : await bodyOf(gateway, record.id);
    if (!(sent instanceof GatewayError)) return { value: { ...record, sent }, lines: linesOf(record, sent) };
    return { value: record, lines: linesOf(record, undefined), hint: `its body: ${wordsFor(sent)}` };
  },
});

/** The error where it is not kept, or may not be seen. */
async function bodyOf(gateway: Gateway, id: string): Promise<AuditBody | GatewayError> {
  try {
    return (await gateway.readAuditBody({ path: { id: id.replace('/', '_') } })).value;
  } catch (error) {
    if (error instanceof GatewayError && (error.status === 403 || error.status === 404)) return error;
    throw error;
  }
}

function linesOf(record: AuditRecord, sent: AuditBody | undefined): readonly string[] {
  const facts = Object.entries(record).map(
    ([name, value]): Fact => [name, typeof value === 'string' ? value : JSON.stringify(value)],
  );
  if (sent === undefined) return factLines(facts);
  const end = sent.truncated === true ? ['(the log has no more of it)'] : [];
  return [...factLines(facts), '', ...visibleLines(sent.body), ...end];
}

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
      meaning: 'only records of this time or later, such as 2026-11-21 or 2026-11-21T08:00:00Z',
    },
    to: { value: 'TIME', meaning: 'only records of this time or earlier; a day is included' },
    timeZone: { value: 'ZONE', meaning: 'of these days, such as Europe/Berlin; by default UTC' },
    principal: { value: 'NAME', meaning: 'only records of the principal with this name' },
    object: {
      value: 'NAME',
      meaning: 'only records of this automation, workflow, form, approval or run: its name or id',
    },
    device: { value: 'NAME', meaning: 'only changes of this device' },
    adapter: { value: 'NAME', meaning: 'only calls to this adapter instance' },
    address: {
      value: 'TEXT',
      meaning: 'only records with this text in their address or in the name of what they are about, such as a device',
    },
    search: {
      value: 'TEXT',
      meaning: 'only records with this text in address, objects, devices, principal or detail',
    },
    outcome: {
      value: 'OUTCOME',
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
