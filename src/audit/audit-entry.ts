/**
 * How a call ended. `refused`: by the gateway, and nothing left it. `failed`: at the upstream or on the way there. `unknown`: it
 * may have happened.
 */
export const auditOutcomes = ['ok', 'refused', 'failed', 'unknown'] as const;

export type AuditOutcome = (typeof auditOutcomes)[number];

/**
 * The facts of a call or event. They never contain a body or a credential, and values of query parameters are masked
 * (masked-query.ts). Sizes are bytes of message bodies; those of upstreams are counted after content codings were removed.
 */
export interface AuditFacts {
  readonly event:
    | 'request'
    | 'start'
    | 'end'
    | 'configuration'
    | 'dropped'
    | 'lost'
    | 'skipped'
    | 'expired'
    | 'withdrawn'
    | 'decided'
    | 'proof';
  readonly requestId?: string | undefined;
  readonly traceId?: string | undefined;
  readonly principal?: string | undefined;
  /** Of a principal that an OIDC issuer vouches for: `iss` and `sub` of its token. */
  readonly issuer?: string | undefined;
  readonly subject?: string | undefined;
  readonly roles?: readonly string[] | undefined;
  readonly sourceAddress?: string | undefined;
  /** Method and URL pattern, such as `POST /tools/restCall`. Of a call of a run `run restCall`, of a preview `preview restAction`. */
  readonly route?: string | undefined;
  readonly adapter?: string | undefined;
  /** The method at the upstream. */
  readonly verb?: string | undefined;
  /** The address (restCall), the path at the orchestrator, or the path at the gateway itself. */
  readonly address?: string | undefined;
  /** The addresses to which a state-changing call was redirected, in order. */
  readonly redirects?: readonly string[] | undefined;
  /** The automation that a request created, changed or deleted, or that was skipped. */
  readonly automation?: { readonly _id: string; readonly name: string } | undefined;
  /** What a request imported: how many automations, and the `_id`s of the first hundred. */
  readonly imported?: { readonly documents: number; readonly ids: readonly string[] } | undefined;
  /** When an automation that was skipped was due (ISO 8601). */
  readonly due?: string | undefined;
  /** The workflow that a request stored, took or deleted, or whose tombstone it removed; without `version` all versions. */
  readonly workflow?:
    | { readonly id: string; readonly version?: string | undefined; readonly tombstone?: true | undefined }
    | undefined;
  /** The id of the run that a request started or changed, or that asked for the approval. */
  readonly run?: string | undefined;
  /**
   * The run that made the call, and the place of its task in the workflow document, such as `/do/0/deploy`. `id`: of the task in the timeline.
   * The fetching of a document that the run needs has no id.
   */
  readonly via?: { readonly run: string; readonly task?: string | undefined; readonly id?: string | undefined } | undefined;
  /** The program of an MCP client, as it names itself. */
  readonly client?: { readonly name: string; readonly version?: string | undefined } | undefined;
  /** The caller at the orchestrator, where the adapter instance sends calls as their callers: name and groups there. */
  readonly actsAs?: { readonly name: string; readonly groups: readonly string[] } | undefined;
  /** The writer of the workflow says that the call changes nothing, so that the run may repeat it. */
  readonly repeatable?: true | undefined;
  /** Set where the call asked the orchestrator for a dry run: the format. It was sent as a dry run alone. */
  readonly preview?: 'native' | 'cli' | 'xml' | undefined;
  /** The form that a request stored or deleted. */
  readonly form?: { readonly id: string } | undefined;
  /** The id of the approval that the call asked for or used, that the request decided, or that expired. */
  readonly approval?: string | undefined;
  /** What people decide about there: method and address of the call, or the question. */
  readonly approvalName?: string | undefined;
  /** The devices that the preview of a change names. A record also has those of its path (changed-devices.ts). */
  readonly devices?: readonly string[] | undefined;
  /** SHA-256 of the text that the change sent, as `GET /audit/:id/body` has it, but whole: hexadecimal digits. */
  readonly bodySha256?: string | undefined;
  /** What the commit of the change gets. With `hasLabel` also a label, which follows from the id of the record. */
  readonly stamp?: { readonly comment: string; readonly hasLabel: boolean } | undefined;
  /** The same of the beginning that was kept, where the text was too long to be kept whole. */
  readonly keptSha256?: string | undefined;
  /** Why a person decided so, in that person's words. */
  readonly reason?: string | undefined;
  /** Of an entry of the kind `proof`, and of the intent that uses an approval. Readers of the log do not see it. */
  readonly proof?: ApprovalFact | undefined;
  readonly decision?: 'allowed' | 'denied' | undefined;
  /** The operator's rule that allowed or refused the call, as the configuration has it. */
  readonly rule?: string | undefined;
  /** Attempts at the upstream, including those of which nothing left. */
  readonly attempts?: number | undefined;
  readonly upstreamStatus?: number | undefined;
  /** The status of the reply to the caller. */
  readonly status?: number | undefined;
  /** An error code (base/error-codes.ts), or `caller-left`. */
  readonly code?: string | undefined;
  readonly outcome?: AuditOutcome | undefined;
  /** How many refusals this record counts. They have no record of their own, and the members of this one in common. */
  readonly count?: number | undefined;
  /** The id of the request whose reply was sent again; this call sent nothing. */
  readonly replays?: string | undefined;
  readonly bytesSent?: number | undefined;
  readonly bytesReceived?: number | undefined;
  readonly durationMs?: number | undefined;
  /** For an event: what happened. For a refusal with 401 or 403: the sentence that its caller got. */
  readonly detail?: string | undefined;
  /** For a start: the last entries of the chains that existed then. */
  readonly links?: readonly ChainLink[] | undefined;
  /** Entries that the store had acknowledged and did not have any more. The next entry of their chain says so, and has the number after `to`. */
  readonly lost?: LostEntries | undefined;
}

/** `from`, `to`: numbers of the first and the last entry. `records`: how many records they held. */
export interface LostEntries {
  readonly chain: string;
  readonly from: number;
  readonly to: number;
  readonly records: number;
}

/** What became of an approval, for the chain: so that no change of the store alone takes it back. */
export interface ApprovalFact {
  readonly approval: string;
  /** `begun`: from then on, a grant for a batch holds for a day. `ended`: without a use. `forgotten`: what ended before the time `before` may be deleted; its `approval` is `*`. */
  readonly of: 'asked' | 'granted' | 'rejected' | 'withdrawn' | 'begun' | 'used' | 'released' | 'ended' | 'forgotten';
  /** SHA-256 of what was asked or decided; of a withdrawal, that of the decision. */
  readonly digest?: string | undefined;
  /** Until when the approval could be used, and when old ones ended at the latest. Milliseconds since the epoch. */
  readonly expires?: number | undefined;
  readonly before?: number | undefined;
  /** Of a use and of its release: the id of the use. */
  readonly use?: string | undefined;
  /** Of a release: a MAC by the key of the approvals, since it lets a call leave. */
  readonly mac?: string | undefined;
  /** The id of its event in the log of events. */
  readonly event?: string | undefined;
}

/** A fact with its record in the log. */
export interface ProvenFact extends ApprovalFact {
  /** `CHAIN/SEQ`. */
  readonly record: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Names an entry of another chain by its MAC. */
export interface ChainLink {
  readonly chain: string;
  readonly seq: number;
  readonly mac: string;
}

/**
 * `intent`: a state-changing call is about to leave. `step`: it is about to go to another address. `outcome`: how it ended; the
 * last outcome is valid. `record`: a call or event in one entry. `records`: several of those, with one millisecond in common.
 * `proof`: what became of an approval. Only the verification and the use of an approval read it.
 */
export type EntryKind = 'intent' | 'outcome' | 'record' | 'records' | 'step' | 'proof';

/** An entry with its place in its chain. */
export interface ChainedEntry {
  readonly chain: string;
  readonly seq: number;
  readonly kind: EntryKind;
  readonly call: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly total: number;
  /** Null for `records`, because each of them has its own. */
  readonly principal: string | null;
  readonly adapter: string | null;
  /** The approval of `proof` in the facts. */
  readonly approval: string | null;
  /** The JSON of one AuditFacts, or of an array of them for `records`. */
  readonly facts: string;
  readonly mac: string;
}

/** An entry that is about to be written. What is not in the chain is written next to it. */
export interface MadeEntry extends ChainedEntry {
  /** What finds the entry (audit-terms.ts). */
  readonly terms?: readonly string[] | undefined;
  /** Of an outcome: where the intent of its call is. */
  readonly intent?: IntentPlace | undefined;
  readonly body?: KeptBody | undefined;
}

/** What a change sent, as readers may see it. */
export interface KeptBody {
  /** Cut. */
  readonly text: string;
  readonly isCut: boolean;
  /** Of the person or client that made the change; the same one has the same text. */
  readonly owner: string;
}

/** Known once the intent is in its chain. */
export interface IntentPlace {
  at: number;
  seq: number;
}

/** The facts of an entry, for `records` in the order of recording. */
export function factsOf({ kind, facts }: Pick<ChainedEntry, 'facts' | 'kind'>): readonly AuditFacts[] {
  const value: unknown = JSON.parse(facts);
  return kind === 'records' ? (value as readonly AuditFacts[]) : [value as AuditFacts];
}

/** A text that every database stores: PostgreSQL accepts neither U+0000 nor a lone surrogate. */
export function storable(text: string | undefined): string | null {
  return text === undefined ? null : storableText(text);
}

export function storableText(text: string): string {
  return text.replaceAll('\0', '\uFFFD').toWellFormed();
}
