/** The result of a call as its caller sees it. */
export type Received =
  /** 200 with a complete body: `text` is the upstream's status and the rendered reply. */
  | { readonly as: 'acknowledged'; readonly text: string }
  /** A complete problem+json; `text` is the upstream's status and body where the upstream answered with an error. */
  | { readonly as: 'problem'; readonly code: string; readonly text?: string }
  /** A reply that began with this status and broke off. */
  | { readonly as: 'broken-off'; readonly status: number }
  /** The connection ended without a byte of a reply. */
  | { readonly as: 'no-reply' }
  /** The caller left: `asked` is false where it had not sent its whole request. */
  | { readonly as: 'left'; readonly asked: boolean }
  /** Nothing came within the caller's patience, which is longer than every time limit of the gateway. */
  | { readonly as: 'silent' };

export interface CallRecord {
  readonly id: string;
  /** True for a call that may change something. */
  readonly changes: boolean;
  /** The most often that the upstreams may read the call; 1 where it changes something. */
  readonly attempts: number;
  /** Every answer that an upstream may give to the call, in the form of `text`. */
  readonly answers: readonly string[];
  readonly received: Received;
}

/** A whole request that an upstream read; `intact` is false where its bytes differ from those of the caller. */
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

/** How often an upstream may have read a state-changing call, by the code that its caller got. Every other code is a fault. */
const boundsByCode: Readonly<Record<string, Bounds>> = {
  'upstream-error': exactlyOnce,
  'response-too-large': exactlyOnce,
  'outcome-unknown': perhapsOnce,
  'upstream-connect-failed': notAtAll,
  'upstream-dns-failed': notAtAll,
  'upstream-tls-failed': notAtAll,
  // The time limit passed before the call was sent; after that the code would be outcome-unknown.
  'upstream-timeout': notAtAll,
  'adapter-busy': notAtAll,
  'adapter-unavailable': notAtAll,
  'credentials-refused': notAtAll,
  'path-denied': notAtAll,
  'destination-denied': notAtAll,
  overloaded: notAtAll,
};

/** The codes of a failed query; only its attempts limit how often the upstreams may have read the query. */
const queryCodes: ReadonlySet<string> = new Set([
  ...Object.keys(boundsByCode).filter((code) => code !== 'outcome-unknown'),
  'upstream-closed',
  'upstream-protocol-error',
]);

/** The codes of any call that the gateway refuses before the first attempt. */
const refusedAtOnce: ReadonlySet<string> = new Set(['adapter-busy', 'path-denied', 'destination-denied', 'overloaded']);

/** Compares what callers received with what the upstreams read; answers every contradiction. */
export function contradictions({ calls, applied }: History): readonly string[] {
  const found: string[] = [];
  const reads = Map.groupBy(applied, ({ id }) => id);
  const known = new Set(calls.map(({ id }) => id));
  if (known.size !== calls.length) found.push('two calls have one id: they cannot be judged');
  for (const id of reads.keys()) if (!known.has(id)) found.push(`${id}: applied, and no caller asked for it`);
  for (const call of calls) {
    const seen = reads.get(call.id) ?? [];
    const faults = [countFault(call, seen.length), resultFault(call)];
    if (seen.some(({ intact }) => !intact)) faults.push('arrived with other bytes than its caller sent');
    for (const fault of faults)
      if (fault !== undefined) found.push(`${call.id}: ${fault} (the caller received: ${shown(call.received)})`);
  }
  return found;
}

/** How often the upstreams must have read the call, at least and at most; undefined where the result is a fault in itself. */
function boundsOf({ changes, attempts, received }: CallRecord): Bounds | undefined {
  switch (received.as) {
    case 'acknowledged':
      return changes ? exactlyOnce : [1, attempts];
    case 'broken-off':
      // The gateway sends this head only after the head of the upstream's reply.
      return changes ? exactlyOnce : [1, attempts];
    case 'left':
      if (!received.asked) return notAtAll;
      return changes ? perhapsOnce : [0, attempts];
    case 'problem':
      if (changes) return boundsByCode[received.code];
      if (refusedAtOnce.has(received.code)) return notAtAll;
      if (!queryCodes.has(received.code)) return undefined;
      return [received.code === 'upstream-error' ? 1 : 0, attempts];
    case 'no-reply':
    case 'silent':
      break;
  }
  return undefined;
}

function countFault(call: CallRecord, count: number): string | undefined {
  const bounds = boundsOf(call);
  const most = bounds?.[1] ?? (call.changes ? 1 : call.attempts);
  if (count > most) return `applied ${count} times, at most ${most} allowed`;
  if (bounds !== undefined && count < bounds[0]) return `applied ${count} times, at least ${bounds[0]} promised`;
  return undefined;
}

function resultFault(call: CallRecord): string | undefined {
  const { received, answers } = call;
  if (received.as === 'silent') return 'hangs';
  if (received.as === 'no-reply') return 'its connection ended without a reply';
  if (received.as === 'broken-off') return received.status === 200 ? undefined : `a reply of status ${received.status} broke off`;
  if (received.as === 'left') return undefined;
  if (boundsOf(call) === undefined) return 'has a result that the gateway never gives';
  const text =
    received.as === 'acknowledged' || received.code === 'upstream-error' ? `${label(received)} ${received.text}` : undefined;
  return text === undefined || answers.includes(text) ? undefined : 'no upstream answered so';
}

/** The first word of an answer in `answers`. */
function label(received: Received): string {
  return received.as === 'problem' ? received.code : received.as;
}

function shown(received: Received): string {
  const text = JSON.stringify(received);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
