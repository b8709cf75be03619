import type { CallRecord } from './call-record.ts';

/** In what circumstances a call is made; its entrance fills it in. */
export interface CallContext {
  readonly record: CallRecord;
  /** Milliseconds that the caller is willing to wait, where it said so. */
  readonly wait: number | undefined;
  /** Calls back once: when the reply is out (`complete`), or when the caller left before that. */
  whenEnded(callback: (complete: boolean) => void): void;
  /** Calls back where the gateway stops before the call ends; the result takes that back. */
  whenStopping(callback: () => void): () => void;
}
