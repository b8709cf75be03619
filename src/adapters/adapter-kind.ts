import type { UpstreamReply } from '#outbound/call/outbound-call.ts';
import type { Stamps } from './commit-stamps.ts';
import type { DryRuns } from './dry-runs.ts';

export const adapterKindMeanings = {
  nso: 'Cisco NSO',
  restconf: 'any RFC 8040 server',
  rest: 'any other HTTP server',
} as const;

export type AdapterKindName = keyof typeof adapterKindMeanings;

export const adapterKindNames = Object.keys(adapterKindMeanings) as AdapterKindName[];

/** The differences between kinds; the instance has what they share. Every kind passes conformance.test.ts. */
export interface AdapterKind {
  readonly name: AdapterKindName;
  /** `path`: `params.path` after the path of the base address. */
  defaultContentType(path: string): string;
  /** Globs of POST actions that change nothing. */
  readonly readActions: readonly string[];
  /** First segments of paths to interfaces of the server that are not the one of this kind. Closed, unless `allowPaths` names the segment. */
  readonly otherInterfaces?: readonly string[];
  /** False: a POST with `{}` has no message body (RFC 8040, section 3.6). */
  readonly sendsEmptyObject: boolean;
  /** Absent: a server may execute what it should only show. */
  readonly dryRuns?: DryRuns;
  /** Absent: its commits take no label and no comment. */
  readonly stamps?: Stamps;
  /** Names that the server's own access rules put into groups, without those that it reserves. Undefined: not known. */
  namedPeople?(ask: Ask): Promise<readonly string[] | undefined>;
  /** Cheap authenticated reads. Rejects as `ask` does: no answer. */
  probe(ask: Ask): Promise<Probed>;
}

/** `path`: relative to the base address. */
export type Ask = (path: string, accept: string) => Promise<Asked>;

export interface Asked {
  /** With the path of the base address. */
  readonly path: string;
  readonly reply: UpstreamReply;
}

/** The reply that decides whether the node is healthy. */
export interface Probed extends Asked {
  readonly role: NodeRole;
  /** The likely cause, unless 401 or 5xx. */
  readonly fault?: string;
}

/** For actions. `secondary`: another node is the primary. `read-only`: the primary refuses changes. */
export type NodeRole = 'primary' | 'secondary' | 'read-only';
