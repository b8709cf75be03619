import { setTimeout } from 'node:timers/promises';
import { type AuditQuery, auditPage, readAuditQuery, readCursor } from '#audit/audit-query.ts';
import type { AuditRecord } from '#audit/audit-reader.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { auditLine } from '../audit-line.ts';
import type { Command, CommandContext, GivenArguments, StoredAudit } from '../command.ts';
import { configFileOption } from '../config-file-option.ts';
import { program } from '../help.ts';
import { loadOrReport } from '../load-or-report.ts';
import { OutputFailed, print } from '../output.ts';

const filters = ['from', 'to', 'principal', 'adapter', 'outcome'] as const;
/** Milliseconds between two looks, and how late a record may come behind one of a later time. */
const lookInterval = 1_000;
const lateness = 15_000;

export const auditList: Command = {
  name: 'audit list',
  summary: 'print who did what and what came of it',
  description: [
    'Print records of the audit log of the configured store, oldest first: a line each on a terminal,',
    'otherwise NDJSON, every field of a record. A gateway may be running on the store.',
  ],
  options: {
    config: configFileOption,
    from: { value: 'TIME', default: '', meaning: 'only records of this time or later, such as 2026-11-21T08:00:00Z' },
    to: { value: 'TIME', default: '', meaning: 'only records of this time or earlier' },
    principal: { value: 'NAME', default: '', meaning: 'only what the principal of this name did' },
    adapter: { value: 'NAME', default: '', meaning: 'only calls to this adapter instance' },
    outcome: { value: 'OUTCOME', default: '', meaning: 'only calls that ended so: ok, refused, failed or unknown' },
    limit: { value: 'N', default: '100', meaning: 'the newest N of them, or "all"' },
  },
  flags: { follow: 'go on printing records as they come, until interrupted', ndjson: 'NDJSON on a terminal as well' },
  operands: [],
  async run(context, given) {
    const query = readFilters(given);
    if (typeof query === 'string') {
      context.stderr.write(`${program} audit list: ${query}\n`);
      return 2;
    }
    const loaded = await loadOrReport(context, given.option('config'), 'audit list');
    if (loaded === undefined) return 1;
    try {
      await context.withAudit(loaded.config, (audit) => printRecords({ context, given, audit, query }));
      return 0;
    } catch (error) {
      if (error instanceof OutputFailed && error.readerLeft) return 0;
      if (!(error instanceof GatewayError || error instanceof OutputFailed)) throw error;
      context.stderr.write(`${program} audit list: ${error.message}\n`);
      return 1;
    }
  },
};

/** As `GET /audit` reads them; a text says what is wrong. `limit` is Infinity for all. */
function readFilters({ option }: GivenArguments): AuditQuery | string {
  const given = new URLSearchParams(filters.flatMap((name) => (option(name) === '' ? [] : [[name, option(name)]])));
  const read = readAuditQuery(given);
  if ('problems' in read) return read.problems.map(({ pointer, detail }) => `--${pointer.slice(1)} ${detail}`).join('\n');
  const limit = option('limit');
  if (limit === 'all') return { ...read.query, limit: Infinity };
  if (!/^[1-9]\d{0,8}$/u.test(limit)) return '--limit is neither a whole number from 1 on nor "all"';
  return { ...read.query, limit: Number(limit) };
}

interface Printing {
  readonly context: CommandContext;
  readonly given: GivenArguments;
  readonly audit: StoredAudit;
  readonly query: AuditQuery;
}

async function printRecords({ context, given, audit, query }: Printing): Promise<void> {
  const line = context.printsToTerminal && !given.flag('ndjson') ? auditLine : (record: AuditRecord) => JSON.stringify(record);
  const show = (record: AuditRecord): Promise<void> => print(context.stdout, `${line(record)}\n`);
  const first = query.limit === Infinity ? oldestFirst(audit, query) : newest(audit, query);
  if (!given.flag('follow')) {
    for await (const record of first) await show(record);
    return;
  }
  // What a call ends with is not known while it goes on: it is looked for whatever that may be.
  const { outcome, ...anyOutcome } = query;
  const since = await earliestUnderWay(audit, anyOutcome);
  // Of what is there already as many are printed as were asked for, and the others not later either.
  const shown = new Map<string, number>();
  for await (const record of oldestFirst(audit, { ...anyOutcome, from: since })) noteIfOver(shown, record);
  for await (const record of first) {
    noteIfOver(shown, record);
    await show(record);
  }
  const showIfWanted = async (record: AuditRecord): Promise<void> => {
    if (outcome === undefined || outcome === record.outcome) await show(record);
  };
  const complain = (why: string): void => {
    context.stderr.write(`${program} audit list: ${why} It goes on once the store is back.\n`);
  };
  await context.untilInterrupted((interruption) =>
    follow({ audit, query: anyOutcome, since, interruption, shown, show: showIfWanted, complain }),
  );
}

/** Milliseconds since the epoch: when the first of the newest calls began that are not over, or `lately`. */
async function earliestUnderWay(audit: StoredAudit, query: AuditQuery): Promise<number> {
  const { list } = await audit.list(onPage(query, auditPage.most, undefined));
  const underWay = list.filter((record) => !isOver(record)).map(({ time }) => Date.parse(time));
  return Math.min(lately(query), ...underWay);
}

/** A call is printed once more when it is over. */
function noteIfOver(shown: Map<string, number>, record: AuditRecord): void {
  if (isOver(record)) shown.set(record.id, Date.parse(record.time));
}

async function* oldestFirst(audit: StoredAudit, query: AuditQuery): AsyncGenerator<AuditRecord, void, undefined> {
  let cursor: string | undefined;
  do {
    const page = await audit.list(onPage(query, auditPage.most, cursor), 'oldest');
    yield* page.list;
    ({ cursor } = page);
  } while (cursor !== undefined);
}

async function* newest(audit: StoredAudit, query: AuditQuery): AsyncGenerator<AuditRecord, void, undefined> {
  const found: AuditRecord[] = [];
  let cursor: string | undefined;
  do {
    const page = await audit.list(onPage(query, Math.min(query.limit - found.length, auditPage.most), cursor));
    found.push(...page.list);
    ({ cursor } = page);
  } while (cursor !== undefined && found.length < query.limit);
  yield* found.toReversed();
}

function onPage(query: AuditQuery, limit: number, cursor: string | undefined): AuditQuery {
  const after = cursor === undefined ? undefined : readCursor(cursor);
  return after === undefined ? { ...query, limit } : { ...query, limit, after };
}

/** Milliseconds since the epoch: what came later may still have records to come. */
function lately({ from = 0 }: AuditQuery): number {
  return Math.max(from, Date.now() - lateness);
}

interface Following {
  readonly audit: StoredAudit;
  readonly query: AuditQuery;
  /** Milliseconds since the epoch: what began earlier is shown, or not to be. */
  readonly since: number;
  readonly shown: Map<string, number>;
  readonly show: (record: AuditRecord) => Promise<void>;
}

/** Looks again and again at the last seconds; a call is printed once it is over. `complain`: of a store that is away, once until it is back. */
async function follow(
  following: Following & { readonly interruption: AbortSignal; readonly complain: (why: string) => void },
): Promise<void> {
  const { interruption, complain } = following;
  let { since } = following;
  let away = false;
  while (!interruption.aborted) {
    // Over at once when interrupted.
    await setTimeout(lookInterval, undefined, { signal: interruption }).catch(() => {});
    if (interruption.aborted) return;
    try {
      since = await look({ ...following, since });
      away = false;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      if (!away) complain(error.message);
      away = true;
    }
  }
}

/** Answers from when on to look the next time. */
async function look({ audit, query, since, shown, show }: Following): Promise<number> {
  let next = Date.now() - lateness;
  for await (const record of oldestFirst(audit, { ...query, from: since })) {
    if (!isOver(record)) next = Math.min(next, Date.parse(record.time));
    else if (!shown.has(record.id)) {
      shown.set(record.id, Date.parse(record.time));
      await show(record);
    }
  }
  next = Math.max(since, next);
  for (const [id, at] of shown) if (at < next) shown.delete(id);
  return next;
}

function isOver({ event, outcome }: AuditRecord): boolean {
  return event !== 'request' || outcome !== undefined;
}
