import { setTimeout } from 'node:timers/promises';
import { type AuditQuery, auditPage, readAuditQuery, readCursor } from '#audit/audit-query.ts';
import type { AuditReader, AuditRecord } from '#audit/audit-reader.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { loadStoredConfig } from '#config/stored-config.ts';
import { auditLine } from '../audit-line.ts';
import type { Command, CommandContext, GivenArguments } from '../command.ts';
import { configFileArgument, configFileOption } from '../config-file-option.ts';
import { program } from '../help.ts';
import { loadOrReport } from '../load-or-report.ts';
import { OutputFailed, print } from '../output.ts';

const filters = ['from', 'to', 'principal', 'adapter', 'address', 'outcome'] as const;
/** Milliseconds between two polls, and the longest delay after which a record may appear behind one with a later time. */
const pollInterval = 1_000;
const longestDelay = 15_000;

export const auditList: Command = {
  name: 'audit list',
  summary: 'print the records of the audit log',
  description: [
    'Print records of the audit log of the configured store, oldest first: one line each on a terminal,',
    'otherwise NDJSON with every field of a record. A gateway may use the store at the same time.',
  ],
  ...configFileArgument,
  options: {
    config: configFileOption,
    from: { value: 'TIME', default: '', meaning: 'only records of this time or later, such as 2026-11-21T08:00:00Z' },
    to: { value: 'TIME', default: '', meaning: 'only records of this time or earlier' },
    principal: { value: 'NAME', default: '', meaning: 'only records of the principal with this name' },
    adapter: { value: 'NAME', default: '', meaning: 'only calls to this adapter instance' },
    address: {
      value: 'TEXT',
      default: '',
      meaning: 'only records with this text in their address or in the name of what they are about, such as a device',
    },
    outcome: { value: 'OUTCOME', default: '', meaning: 'only calls with this outcome: ok, refused, failed or unknown' },
    limit: { value: 'N', default: '100', meaning: 'only the newest N records, or "all"' },
  },
  flags: { follow: 'continue to print new records until interrupted', ndjson: 'print NDJSON on a terminal too' },
  async run(context, given) {
    const query = readFilters(given);
    if (typeof query === 'string') {
      context.stderr.write(`${program} audit list: ${query}\n`);
      return 2;
    }
    const loaded = await loadOrReport({ context, file: given.option('config'), command: 'audit list', load: loadStoredConfig });
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

/** Parses the filters as `GET /audit` does; a text says what is wrong. `limit` is Infinity for "all". */
function readFilters({ option }: GivenArguments): AuditQuery | string {
  const given = new URLSearchParams(filters.flatMap((name) => (option(name) === '' ? [] : [[name, option(name)]])));
  const read = readAuditQuery(given);
  if ('problems' in read) return read.problems.map(({ pointer, detail }) => `--${pointer.slice(1)} ${detail}`).join('\n');
  const limit = option('limit');
  if (limit === 'all') return { ...read.query, limit: Infinity };
  if (!/^[1-9]\d{0,8}$/u.test(limit)) return '--limit is neither a whole number of at least 1 nor "all"';
  return { ...read.query, limit: Number(limit) };
}

interface Printing {
  readonly context: CommandContext;
  readonly given: GivenArguments;
  readonly audit: AuditReader;
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
  // The outcome of a call is unknown until it ends, so the search does not filter by outcome.
  const { outcome, ...anyOutcome } = query;
  const since = await earliestInProgress(audit, anyOutcome);
  // Records that exist already are marked as shown: the first listing prints as many as `--limit` allows, and the others are
  // never printed.
  const shown = new Map<string, number>();
  for await (const record of oldestFirst(audit, { ...anyOutcome, from: since })) markIfEnded(shown, record);
  for await (const record of first) {
    markIfEnded(shown, record);
    await show(record);
  }
  const showIfWanted = async (record: AuditRecord): Promise<void> => {
    if (outcome === undefined || outcome === record.outcome) await show(record);
  };
  const complain = (why: string): void => {
    context.stderr.write(`${program} audit list: ${why} The command continues when the store is back.\n`);
  };
  await context.untilInterrupted((interruption) =>
    follow({ audit, query: anyOutcome, since, interruption, shown, show: showIfWanted, complain }),
  );
}

/** When the first of the newest calls in progress began, or `recent` if that is earlier. Milliseconds since the epoch. */
async function earliestInProgress(audit: AuditReader, query: AuditQuery): Promise<number> {
  const { list } = await audit.list(onPage(query, auditPage.most, undefined));
  const inProgress = list.filter((record) => !hasEnded(record)).map(({ time }) => Date.parse(time));
  return Math.min(recent(query), ...inProgress);
}

/** Marks a call that has ended. A call in progress is printed again when it ends. */
function markIfEnded(shown: Map<string, number>, record: AuditRecord): void {
  if (hasEnded(record)) shown.set(record.id, Date.parse(record.time));
}

async function* oldestFirst(audit: AuditReader, query: AuditQuery): AsyncGenerator<AuditRecord, void, undefined> {
  let cursor: string | undefined;
  do {
    const page = await audit.list(onPage(query, auditPage.most, cursor), 'oldest');
    yield* page.list;
    ({ cursor } = page);
  } while (cursor !== undefined);
}

async function* newest(audit: AuditReader, query: AuditQuery): AsyncGenerator<AuditRecord, void, undefined> {
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

/** Records from this time on may still be followed by records with an earlier time. Milliseconds since the epoch. */
function recent({ from = 0 }: AuditQuery): number {
  return Math.max(from, Date.now() - longestDelay);
}

interface Following {
  readonly audit: AuditReader;
  readonly query: AuditQuery;
  /** Everything earlier was printed or must not be printed. Milliseconds since the epoch. */
  readonly since: number;
  readonly shown: Map<string, number>;
  readonly show: (record: AuditRecord) => Promise<void>;
}

/**
 * Polls the newest records until interrupted, and prints each call when it ends. Calls `complain` once for each time that the
 * store goes away.
 */
async function follow(
  following: Following & { readonly interruption: AbortSignal; readonly complain: (why: string) => void },
): Promise<void> {
  const { interruption, complain } = following;
  let { since } = following;
  let away = false;
  while (!interruption.aborted) {
    // An interruption ends the wait.
    await setTimeout(pollInterval, undefined, { signal: interruption }).catch(() => {});
    if (interruption.aborted) return;
    try {
      since = await poll({ ...following, since });
      away = false;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      if (!away) complain(error.message);
      away = true;
    }
  }
}

/** Prints the records that are new, and resolves with the time from which to poll next. */
async function poll({ audit, query, since, shown, show }: Following): Promise<number> {
  let next = Date.now() - longestDelay;
  for await (const record of oldestFirst(audit, { ...query, from: since })) {
    if (!hasEnded(record)) next = Math.min(next, Date.parse(record.time));
    else if (!shown.has(record.id)) {
      shown.set(record.id, Date.parse(record.time));
      await show(record);
    }
  }
  next = Math.max(since, next);
  for (const [id, at] of shown) if (at < next) shown.delete(id);
  return next;
}

function hasEnded({ event, outcome }: AuditRecord): boolean {
  return event !== 'request' || outcome !== undefined;
}
