import type { FarSideReply } from '#outbound/outbound-call.ts';
import type { DryRuns } from './dry-runs.ts';

/**
 * The differences between kinds of orchestrators. A kind is a plain value. Everything that kinds have in common (connections,
 * limits, slots, retries, breakers) is in the adapter instance. Every kind passes conformance.test.ts.
 */
export interface AdapterKind {
  readonly name: 'nso' | 'restconf' | 'rest';
  /**
   * The media type of a request body if the caller names none. `path` is `params.path` as written, after the path of the base
   * address.
   */
  defaultContentType(path: string): string;
  /** Globs of the paths of POST actions that change nothing. */
  readonly readActions: readonly string[];
  /** False if a POST with `{}` is sent without a message body: an operation without input has none (RFC 8040, section 3.6). */
  readonly sendsEmptyObject: boolean;
  /** Absent: a server of this kind may execute what it should only show, so it is never asked. */
  readonly dryRuns?: DryRuns;
  /**
   * Finds the state and role of a node with cheap authenticated reads. If `ask` rejects, `probe` rejects with the same error: the
   * node did not answer.
   */
  probe(ask: Ask): Promise<Probed>;
}

/** Sends a GET to the probed node; `path` is relative to its base address. */
export type Ask = (path: string, accept: string) => Promise<Asked>;

export interface Asked {
  /** As sent, with the path of the base address. */
  readonly path: string;
  readonly reply: FarSideReply;
}

/** The result of a probe: the reply that decides whether the node is healthy, and its request. */
export interface Probed extends Asked {
  readonly role: NodeRole;
  /** Why the reply is not the one of a healthy node of this kind, with the likely cause. A 401 and a 5xx need no reason. */
  readonly fault?: string;
}

/**
 * Whether actions may go to a node. `primary`: yes. `secondary`: another node is the primary. `read-only`: the primary refuses
 * changes now.
 */
export type NodeRole = 'primary' | 'secondary' | 'read-only';
