/** Where the value of a secret is, and how to read it. */
export interface ValueSource {
  /** For log and metrics: never the value. */
  readonly name: string;
  /** All that it depends on: a source with the same key reads the same. Default: the name. */
  readonly key?: string;
  /** Never rejects. */
  read(): Promise<SourceRead>;
  /** Milliseconds after which to read again; undefined: only after a refusal, a reload, or a new stamp. */
  readonly ttl?: number;
  /** Another text once the value may be another one. Never rejects. */
  stamp?(): Promise<string>;
}

/** `renewIn`: milliseconds, in place of the ttl. `fault` follows the key path of a problem; `detail` is for the log alone. */
export type SourceRead =
  | { readonly text: string; readonly renewIn?: number }
  | { readonly fault: string; readonly detail?: string };
