/**
 * What one kind of orchestrator does differently. A kind is a value: everything it shares with the others
 * (connections, limits, slots, retries) is the adapter instance's. Every kind passes conformance.test.ts.
 */
export interface AdapterKind {
  readonly name: 'nso' | 'restconf' | 'rest';
  /** The media type of a request body where the caller names none; `path` is `params.path` as written. */
  defaultContentType(path: string): string;
  /** False where an empty input is sent as no message body at all (RFC 8040 3.6). */
  readonly sendsEmptyObject: boolean;
}
