import type { OutboundCall } from '#outbound/outbound-call.ts';

/** The forms in which an orchestrator shows what a change would do. */
export const dryRunFormats = ['native', 'cli', 'xml'] as const;

export type DryRunFormat = (typeof dryRunFormats)[number];

/** What an orchestrator says that a call would do, in its own words; or why it says nothing. */
export type Preview = { readonly kind: DryRunFormat; readonly text: string } | { readonly kind: 'none'; readonly reason: string };

/** The call whose effect is asked for. */
export interface ChangeCall {
  readonly method: OutboundCall['method'];
  /** `params.path` as the caller wrote it. */
  readonly path: string;
  /** Media type of the body. */
  readonly contentType: string;
  /** The caller's exact bytes. */
  readonly body: Buffer | undefined;
  /** The caller's headers that go to the orchestrator, in lower case. */
  readonly passedOn: Readonly<Record<string, string>>;
}

/** The call that asks for a dry run. */
export type WrittenDryRun = Pick<ChangeCall, 'path' | 'body' | 'contentType'>;

/** Why a call has no dry run. `ofProven`: the reason is about a node that has proven that it knows dry runs, and no other one. */
export interface NoDryRun {
  readonly none: string;
  readonly ofProven?: true;
}

/** A reply with its whole body. */
export interface WholeAnswer {
  readonly status: number;
  readonly body: Buffer;
}

/**
 * How a kind of orchestrator is asked what a call would do. A server that does not know dry runs may ignore the request for one, and
 * execute the call. So each node has to prove that it knows them, and no dry run goes to a node without that proof.
 */
export interface DryRuns {
  /** Adds the request for a dry run to a call, or says why there is none for it. The caller's body keeps its bytes, or gets one member. */
  write(call: ChangeCall, format: DryRunFormat): WrittenDryRun | NoDryRun;
  /** Looks for the proof with GETs to one node. Resolves to the reason where there is none; rejects as `read` does. */
  prove(read: (path: string, accept: string) => Promise<WholeAnswer>): Promise<string | undefined>;
  /** The accepted media type of the answer. */
  readonly accept: string;
  /** Reads the answer to a dry run, whose status is below 300. `path` is the one of the call. */
  read(answer: WholeAnswer, asked: { readonly format: DryRunFormat; readonly path: string }): Promise<Preview>;
}
