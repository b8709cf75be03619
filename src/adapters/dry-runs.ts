import type { OutboundCall } from '#outbound/call/outbound-call.ts';

export const dryRunFormats = ['native', 'cli', 'xml'] as const;

export type DryRunFormat = (typeof dryRunFormats)[number];

/** In words of the orchestrator; or why it has none. */
export type Preview = { readonly kind: DryRunFormat; readonly text: string } | { readonly kind: 'none'; readonly reason: string };

export interface ChangeCall {
  readonly method: OutboundCall['method'];
  /** `params.path` as written. */
  readonly path: string;
  readonly contentType: string;
  /** Exact bytes. */
  readonly body: Buffer | undefined;
  /** Those that go to the orchestrator, in lower case. */
  readonly passedOn: Readonly<Record<string, string>>;
}

export type WrittenDryRun = Omit<ChangeCall, 'method'>;

/** How a node takes what is said of a commit: as one JSON object (NSO 6.7), or each as a query parameter. */
export type CommitForm = 'params' | 'parameters';

/** `missing`: why there is no proof. */
export type DryRunProof = { readonly form: CommitForm } | { readonly missing: string };

/** `ofProven`: only of a node that has proven dry runs. */
export interface NoDryRun {
  readonly none: string;
  readonly ofProven?: true;
}

export interface WholeAnswer {
  readonly status: number;
  readonly body: Buffer;
}

/** A server without dry runs may execute the call. So no dry run goes to a node that has not proven that it knows them. */
export interface DryRuns {
  /** The body keeps its bytes, or gets one member. */
  write(call: ChangeCall, asked: { readonly format: DryRunFormat; readonly form: CommitForm }): WrittenDryRun | NoDryRun;
  /** With GETs. */
  prove(read: (path: string, accept: string) => Promise<WholeAnswer>): Promise<DryRunProof>;
  /** Media type. */
  readonly accept: string;
  /** Status below 300. `path`: of the call. */
  read(answer: WholeAnswer, asked: { readonly format: DryRunFormat; readonly path: string }): Promise<Preview>;
}
