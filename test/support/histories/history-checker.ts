/** What a caller was told of a call. */
export type Told =
  /** 200 with a complete body: `text` is the far side's status and what was made of its reply. */
  | { readonly as: 'acknowledged'; readonly text: string }
  /** A complete problem of the gateway's; `text` is the far side's status and body where it answered with an error. */
  | { readonly as: 'problem'; readonly code: string; readonly text?: string }
  /** A reply that began with this status and broke off. */
  | { readonly as: 'broken-off'; readonly status: number }
  /** The connection ended without a byte of a reply. */
  | { readonly as: 'no-reply' }
  /** The caller went away by itself: `asked` is false where it had not sent its whole request. */
  | { readonly as: 'left'; readonly asked: boolean }
  /** Nothing came within the caller's patience, which is well over every time limit of the gateway. */
  | { readonly as: 'silent' };

export interface CallRecord {
  readonly id: string;
  /** True where doing it twice would do something twice. */
  readonly changes: boolean;
  /** How often the far sides may read it at most; of one that changes something always once. */
  readonly attempts: number;
  /** Every answer that a far side may have given it, as `text` would show it. */
  readonly answers: readonly string[];
  readonly told: Told;
}

/** A whole request that a far side read; `intact` is false where its bytes were not those that the caller gave. */
export interface Applied {
  readonly id: string;
  readonly intact: boolean;
}

export interface History {
  readonly calls: readonly CallRecord[];
  readonly applied: readonly Applied[];
}

type Bounds = readonly [least: number, most: number];

const notAtAll: Bounds = [0, 0];
const perhapsOnce: Bounds = [0, 1];
const exactlyOnce: Bounds = [1, 1];

/** How often a far side may have read a state-changing call of which the caller was told this; a code that is not here is a fault. */
const boundsByCode: Readonly<Record<string, Bounds>> = {
  'upstream-error': exactlyOnce,
  'response-too-large': exactlyOnce,
  'outcome-unknown': perhapsOnce,
  'upstream-connect-failed': notAtAll,
  'upstream-dns-failed': notAtAll,
  'upstream-tls-failed': notAtAll,
  // Of a call that left it would be outcome-unknown: the limit was passed while waiting or connecting.
  'upstream-timeout': notAtAll,
  'adapter-busy': notAtAll,
  'adapter-unavailable': notAtAll,
  'path-denied': notAtAll,
  'destination-denied': notAtAll,
  overloaded: notAtAll,
};

/** What may be told of a query that failed; how often it was read then is bounded by its attempts alone. */
const queryCodes: ReadonlySet<string> = new Set([
  ...Object.keys(boundsByCode).filter((code) => code !== 'outcome-unknown'),
  'upstream-closed',
  'upstream-protocol-error',
]);

/** Told before anything is tried, of whatever call. */
const refusedAtOnce: ReadonlySet<string> = new Set(['adapter-busy', 'path-denied', 'destination-denied', 'overloaded']);

/** Holds what callers were told against what the far sides read, and names every contradiction; none is what there should be. */
export function contradictions({ calls, applied }: History): readonly string[] {
  const found: string[] = [];
  const reads = Map.groupBy(applied, ({ id }) => id);
  const known = new Set(calls.map(({ id }) => id));
  if (known.size !== calls.length) found.push('two calls have one id: nothing can be said');
  for (const id of reads.keys()) if (!known.has(id)) found.push(`${id}: applied, and nobody asked for it`);
  for (const call of calls) {
    const seen = reads.get(call.id) ?? [];
    const faults = [howOften(call, seen.length), whatWasTold(call)];
    if (seen.some(({ intact }) => !intact)) faults.push('arrived with other bytes than its caller gave');
    for (const fault of faults) if (fault !== undefined) found.push(`${call.id}: ${fault} (told: ${shown(call.told)})`);
  }
  return found;
}

/** The numbers between which the far sides must have read the call; undefined where what was told is a fault in itself. */
function boundsOf({ changes, attempts, told }: CallRecord): Bounds | undefined {
  switch (told.as) {
    case 'acknowledged':
      return changes ? exactlyOnce : [1, attempts];
    case 'broken-off':
      // Its head is made of the head of the far side's reply.
      return changes ? exactlyOnce : [1, attempts];
    case 'left':
      if (!told.asked) return notAtAll;
      return changes ? perhapsOnce : [0, attempts];
    case 'problem':
      if (changes) return boundsByCode[told.code];
      if (refusedAtOnce.has(told.code)) return notAtAll;
      if (!queryCodes.has(told.code)) return undefined;
      return [told.code === 'upstream-error' ? 1 : 0, attempts];
    case 'no-reply':
    case 'silent':
      break;
  }
  return undefined;
}

function howOften(call: CallRecord, count: number): string | undefined {
  const bounds = boundsOf(call);
  const most = bounds?.[1] ?? (call.changes ? 1 : call.attempts);
  if (count > most) return `applied ${count} times, at most ${most} allowed`;
  if (bounds !== undefined && count < bounds[0]) return `applied ${count} times, at least ${bounds[0]} promised`;
  return undefined;
}

function whatWasTold(call: CallRecord): string | undefined {
  const { told, answers } = call;
  if (told.as === 'silent') return 'hangs';
  if (told.as === 'no-reply') return 'its connection ended without a reply';
  if (told.as === 'broken-off') return told.status === 200 ? undefined : `a reply of status ${told.status} broke off`;
  if (told.as === 'left') return undefined;
  if (boundsOf(call) === undefined) return 'may not be told so';
  const text = told.as === 'acknowledged' || told.code === 'upstream-error' ? `${label(told)} ${told.text}` : undefined;
  return text === undefined || answers.includes(text) ? undefined : 'no far side answered so';
}

/** How an answer begins in `answers`. */
function label(told: Told): string {
  return told.as === 'problem' ? told.code : told.as;
}

function shown(told: Told): string {
  const text = JSON.stringify(told);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
