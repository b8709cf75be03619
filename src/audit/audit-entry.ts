/** How a call ended: `refused` by the gateway (nothing left it), `failed` at the far side or on the way, `unknown`: it may have happened. */
export const auditOutcomes = ['ok', 'refused', 'failed', 'unknown'] as const;

export type AuditOutcome = (typeof auditOutcomes)[number];

/**
 * What is known of a call or an event. Never a body and never a credential; values of queries are masked (masked-query.ts).
 * Sizes are bytes, of message bodies; the far side's are counted after content codings were removed.
 */
export interface AuditFacts {
  readonly event: 'request' | 'start' | 'end' | 'configuration' | 'dropped';
  readonly requestId?: string | undefined;
  readonly traceId?: string | undefined;
  readonly principal?: string | undefined;
  readonly roles?: readonly string[] | undefined;
  readonly sourceAddress?: string | undefined;
  /** Method and pattern, such as `POST /tools/restCall`. */
  readonly route?: string | undefined;
  readonly adapter?: string | undefined;
  /** The method at the far side. */
  readonly verb?: string | undefined;
  /** The address (restCall), the orchestrator's path, or the gateway's own path. */
  readonly address?: string | undefined;
  /** Where a state-changing call was redirected to, in turn. */
  readonly redirects?: readonly string[] | undefined;
  readonly decision?: 'allowed' | 'denied' | undefined;
  readonly rule?: string | undefined;
  /** Requests that were made of the far side, those that never left included. */
  readonly attempts?: number | undefined;
  readonly upstreamStatus?: number | undefined;
  /** What the caller was answered. */
  readonly status?: number | undefined;
  /** Of the error table, or `caller-left`. */
  readonly code?: string | undefined;
  readonly outcome?: AuditOutcome | undefined;
  /** The request whose reply was answered once more; nothing was sent. */
  readonly replays?: string | undefined;
  readonly bytesSent?: number | undefined;
  readonly bytesReceived?: number | undefined;
  readonly durationMs?: number | undefined;
  /** Of an event: what happened. */
  readonly detail?: string | undefined;
  /** Of a start: the last entries of the chains that were there. */
  readonly links?: readonly ChainLink[] | undefined;
}

/** An entry of another chain, by its MAC. */
export interface ChainLink {
  readonly chain: string;
  readonly seq: number;
  readonly mac: string;
}

/**
 * `intent`: a state-changing call is about to leave. `step`: it is about to go on to another address. `outcome`: what came of it; the
 * last one holds. `record`: anything that is written in one piece. `records`: several of those, of one millisecond.
 */
export type EntryKind = 'intent' | 'outcome' | 'record' | 'records' | 'step';

/** An entry in its chain. */
export interface ChainedEntry {
  readonly chain: string;
  readonly seq: number;
  readonly kind: EntryKind;
  readonly call: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly total: number;
  /** Null of `records`: each has its own. */
  readonly principal: string | null;
  readonly adapter: string | null;
  /** The JSON text of AuditFacts, or of an array of them. */
  readonly facts: string;
  readonly mac: string;
}

/** What an entry says: one or, of `records`, several, in the order they were recorded. */
export function factsOf({ kind, facts }: Pick<ChainedEntry, 'facts' | 'kind'>): readonly AuditFacts[] {
  const value: unknown = JSON.parse(facts);
  return kind === 'records' ? (value as readonly AuditFacts[]) : [value as AuditFacts];
}

/** Text as every database keeps it: PostgreSQL takes neither U+0000 nor half a surrogate pair. */
export function storable(text: string | undefined): string | null {
  return text === undefined ? null : text.replaceAll('\0', '\uFFFD').toWellFormed();
}
