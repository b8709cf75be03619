import type { FarSideReply } from '#outbound/outbound-call.ts';

/**
 * What one kind of orchestrator does differently. A kind is a value: everything it shares with the others
 * (connections, limits, slots, retries, breakers) is the adapter instance's. Every kind passes conformance.test.ts.
 */
export interface AdapterKind {
  readonly name: 'nso' | 'restconf' | 'rest';
  /** The media type of a request body where the caller names none; `path` is `params.path` as written, behind that of the base address. */
  defaultContentType(path: string): string;
  /** False where an empty input is sent as no message body at all (RFC 8040 3.6). */
  readonly sendsEmptyObject: boolean;
  /** Asks a node how it is, by cheap authenticated reads. What `ask` rejects with is passed on: the node did not answer. */
  probe(ask: Ask): Promise<Probed>;
}

/** Sends a GET to the node that is probed; `path` is relative to its base address. */
export type Ask = (path: string, accept: string) => Promise<FarSideReply>;

/** What a node said of itself. */
export interface Probed {
  /** The reply that its health is judged by. */
  readonly reply: FarSideReply;
  readonly role: NodeRole;
}

/** Whether actions may go to a node: `primary`, or `secondary` where another one is; `read-only` where the primary takes none now. */
export type NodeRole = 'primary' | 'secondary' | 'read-only';
