/** How a call ended: `refused` by the gateway (nothing left it), `failed` at the far side or on the way, `unknown`: it may have happened. */
export const auditOutcomes = ['ok', 'refused', 'failed', 'unknown'] as const;

export type AuditOutcome = (typeof auditOutcomes)[number];

/**
 * What is known of a call or an event. Never a body and never a credential; values of queries are masked (masked-address.ts).
 * Sizes are bytes, of message bodies; the far side's are counted after content codings were removed.
 */
export interface AuditFacts {
  readonly event: 'request' | 'start' | 'end' | 'configuration' | 'dropped';
  readonly requestId?: string;
  readonly traceId?: string;
  readonly principal?: string;
  readonly roles?: readonly string[];
  readonly sourceAddress?: string;
  /** Method and pattern, such as `POST /tools/restCall`. */
  readonly route?: string;
  readonly adapter?: string;
  /** The method at the far side. */
  readonly verb?: string;
  /** The address (restCall), the orchestrator's path, or the gateway's own path. */
  readonly address?: string;
  /** Where a state-changing call was redirected to, in turn. */
  readonly redirects?: readonly string[];
  readonly decision?: 'allowed' | 'denied';
  readonly rule?: string;
  /** Requests that were made of the far side, those that never left included. */
  readonly attempts?: number;
  readonly upstreamStatus?: number;
  /** What the caller was answered. */
  readonly status?: number;
  /** Of the error table, or `caller-left`. */
  readonly code?: string;
  readonly outcome?: AuditOutcome;
  readonly bytesSent?: number;
  readonly bytesReceived?: number;
  readonly durationMs?: number;
  /** Of an event: what happened. */
  readonly detail?: string;
  /** Of a start: the last entries of the chains that were there. */
  readonly links?: readonly ChainLink[];
}

/** An entry of another chain, by its MAC. */
export interface ChainLink {
  readonly chain: string;
  readonly seq: number;
  readonly mac: string;
}

/**
 * `intent`: a state-changing call is about to leave. `step`: it is about to go on to another address. `outcome`: what came of it; the
 * last one holds. `record`: anything that is written in one piece.
 */
export type EntryKind = 'intent' | 'outcome' | 'record' | 'step';

/** An entry in its chain. */
export interface ChainedEntry {
  readonly chain: string;
  readonly seq: number;
  readonly kind: EntryKind;
  readonly call: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly total: number;
  readonly principal: string | null;
  readonly adapter: string | null;
  /** The JSON text of AuditFacts. */
  readonly facts: string;
  readonly mac: string;
}

/** Text as every database keeps it: PostgreSQL takes neither U+0000 nor half a surrogate pair. */
export function storable(text: string | undefined): string | null {
  return text === undefined ? null : text.replaceAll('\0', '\uFFFD').toWellFormed();
}
