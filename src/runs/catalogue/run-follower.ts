import type { Principal } from '#access/principal.ts';
import type { Rights } from '#access/rights/rights.ts';
import type { Clock } from '#base/clock.ts';
import type { EventRecord } from '../journal/run-records.ts';
import type { RunStore } from '../journal/run-store.ts';
import { createEventTail, type EventTail, type TailReader } from './event-tail.ts';
import { type RunVisibility, seesMessages } from './run-access.ts';

/** Events in the order of their numbers. An empty page says that the stream has been silent for 15 seconds. */
export type EventPages = AsyncGenerator<readonly EventRecord[], void, undefined>;

export interface FollowOptions {
  readonly after: number | undefined;
  /** Ends the stream. Abort it in any case: it also frees a stream that was never read. */
  readonly signal: AbortSignal;
}

/** Streams end after an hour at the latest: their readers then come with their present rights. */
interface RunFollower {
  /** Events of a run that the reader may see, from its beginning or after `after`. Undefined: it has ended and no more will come. */
  run(run: { readonly id: string; readonly hasEnded: boolean }, options: FollowOptions): Promise<EventPages | undefined>;
  /** All that the principal may see, from now on or after `after`. */
  all(principal: Principal, options: FollowOptions): Promise<EventPages>;
}

interface FollowerNeeds {
  readonly store: Pick<RunStore, 'events' | 'lastEvent' | 'onChange' | 'summary'>;
  readonly clock: Clock;
  readonly visibility: RunVisibility;
  readonly rights: Rights;
  readonly tail?: EventTail;
  readonly times?: typeof usualTimes;
}

/** Events of a page: a stream holds one page while its reader takes it. */
const pageSize = 50;
/** Milliseconds: between two pages at most, of a stream, and until a store that was away is asked again. */
const usualTimes = { silence: 15_000, lifetime: 3_600_000, retryAfter: 1_000 };

export function createRunFollower(needs: FollowerNeeds): RunFollower {
  const { store, clock, visibility, rights } = needs;
  const { tail = createEventTail(store), times = usualTimes } = needs;
  return {
    async run({ id, hasEnded }, { after = 0, signal }) {
      const read: Stream['read'] = (position) => store.events({ after: position, run: id, limit: pageSize });
      if (hasEnded && (await read(after)).length === 0) return undefined;
      const isOver = async (page: readonly EventRecord[]): Promise<boolean> => {
        if (page.length > 0) return page.some(endsItsRun);
        const run = await store.summary(id);
        return run === undefined || run.endedAt !== undefined;
      };
      const sees = ({ run }: EventRecord): boolean => run === id;
      return await openStream(tail, store, { after, read, sees, clock, times, signal, isOver, over: hasEnded });
    },
    async all(principal, { after, signal }) {
      // The store judges groups alone. What it leaves out no such principal may see.
      const { roles, id, groups } = principal;
      const visibleTo = roles.includes('admin') || seesMessages(rights, principal) ? undefined : { principal: id, groups };
      const read: Stream['read'] = (position) => store.events({ after: position, filter: { visibleTo }, limit: pageSize });
      const sees = (event: EventRecord): boolean | Promise<boolean> => visibility.seesEvent(principal, event);
      return await openStream(tail, store, { after, read, sees, clock, times, signal });
    },
  };
}

/** Closes the reader with the signal, since the generator may never begin. */
async function openStream(
  tail: EventTail,
  store: Pick<RunStore, 'lastEvent'>,
  { after, ...options }: Omit<Stream, 'reader'>,
): Promise<EventPages> {
  const reader = await tail.open();
  const { signal } = options;
  signal.addEventListener('abort', () => reader.close(), { once: true });
  if (signal.aborted) reader.close();
  try {
    const { end } = reader.tail;
    const wanted = after ?? end;
    // A client that has events which the store lost goes on at the head of the log.
    const begin = wanted <= end ? wanted : Math.min(wanted, await store.lastEvent());
    return pagesOf({ ...options, reader, after: begin });
  } catch (error) {
    reader.close();
    throw error;
  }
}

interface Stream {
  readonly reader: TailReader;
  /** Absent: from now on. */
  readonly after: number | undefined;
  /** The page of the store after a number, as far as the tail does not have it. */
  readonly read: (after: number) => Promise<readonly EventRecord[]>;
  readonly sees: (event: EventRecord) => boolean | Promise<boolean>;
  readonly clock: Clock;
  readonly times: typeof usualTimes;
  readonly signal: AbortSignal;
  /** Whether the rest of the stream is in the store, where this page was the last one. */
  readonly isOver?: (page: readonly EventRecord[]) => Promise<boolean>;
  readonly over?: boolean;
}

/** Reads from the store until the tail has the rest. Never two reads at once, and none while the reader takes a page. */
async function* pagesOf(stream: Stream & { readonly after: number }): EventPages {
  const { reader, clock, signal, times } = stream;
  const begun = clock.monotonic();
  let spoke = begun;
  let position = stream.after;
  let over = stream.over ?? false;
  let { times: rewinds } = reader.tail.rewound;
  try {
    while (!signal.aborted && clock.monotonic() - begun < times.lifetime) {
      position = afterRewind(position, rewinds, reader);
      rewinds = reader.tail.rewound.times;
      const { page, isEnd, ...next } = await stepOf(stream, { position, over, spoke });
      position = next.position;
      const isDue = page.length > 0 || (!isEnd && clock.monotonic() - spoke >= times.silence);
      if (isDue && !signal.aborted) {
        yield page;
        spoke = clock.monotonic();
        over ||= await isOver(stream, page);
      }
      if (isEnd) return;
    }
  } finally {
    reader.close();
  }
}

/** Where the store lost events since so many rewinds, the stream goes back. */
function afterRewind(position: number, rewinds: number, { tail: { rewound } }: TailReader): number {
  return rewound.times === rewinds ? position : Math.min(position, rewound.to);
}

/** `over`: all that the stream still has is in the store. `spoke`: when the last page was given. */
interface Place {
  readonly position: number;
  readonly over: boolean;
  readonly spoke: number;
}

/** The next page. Where there is none now, an empty one after a wait. */
async function stepOf(stream: Stream, place: Place): Promise<Pick<NextPage, 'page' | 'position'> & { readonly isEnd: boolean }> {
  const { reader, clock, signal, times } = stream;
  const { position, over, spoke } = place;
  const next = await nextOf(stream, place).catch(() => undefined);
  if (next === undefined) {
    await reader.tail.growth(times.retryAfter, signal);
    return { page: [], position, isEnd: false };
  }
  const isEnd = next.isLast && over;
  if (!isEnd && next.position === position)
    await reader.tail.growth(Math.max(0, spoke + times.silence - clock.monotonic()), signal);
  return { page: next.page, position: next.position, isEnd };
}

/** While the store is away no stream ends; the next silence asks again. */
async function isOver(stream: Stream, page: readonly EventRecord[]): Promise<boolean> {
  try {
    return (await stream.isOver?.(page)) ?? false;
  } catch {
    return false;
  }
}

interface NextPage {
  /** What the reader may see of it. */
  readonly page: readonly EventRecord[];
  readonly position: number;
  /** The store has no more now. */
  readonly isLast: boolean;
}

async function nextOf({ reader, read, sees }: Stream, { position, over }: Place): Promise<NextPage> {
  // At the end of a run the tail may not have its last events yet.
  const kept = over ? undefined : reader.tail.after(position);
  if (kept !== undefined) {
    const records = kept.records.slice(kept.from, kept.from + pageSize);
    return { page: await filterSeen(records, sees), position: records.at(-1)?.number ?? position, isLast: false };
  }
  const { end } = reader.tail;
  const records = await read(position);
  const isLast = records.length < pageSize;
  const last = records.at(-1)?.number ?? position;
  // What is not in a short page was not there, or is not for this reader.
  return { page: await filterSeen(records, sees), position: isLast ? Math.max(last, end, position) : last, isLast };
}

async function filterSeen(records: readonly EventRecord[], sees: Stream['sees']): Promise<readonly EventRecord[]> {
  const found: EventRecord[] = [];
  for (const record of records) {
    const visible = sees(record);
    if (visible === true || (visible !== false && (await visible))) found.push(record);
  }
  return found;
}

/** Empty where the CloudEvent has none. */
export function typeOfEvent({ event }: EventRecord): string {
  const read: unknown = JSON.parse(event);
  return typeof read === 'object' && read !== null && 'type' in read && typeof read.type === 'string' ? read.type : '';
}

const endOfRun = /^io\.serverlessworkflow\.workflow\.(?:cancelled|faulted|completed)\.v1$/u;

function endsItsRun(record: EventRecord): boolean {
  return record.kind === 'lifecycle' && endOfRun.test(typeOfEvent(record));
}
