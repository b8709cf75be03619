/**
 * The part of `saxes` that we use. Its own declarations do not hold under `exactOptionalPropertyTypes` (tsc checks libraries
 * too, skipLibCheck is off), so tsconfig.json points here.
 */
export interface SaxesEvents {
  readonly xmldecl: (declaration: { readonly encoding?: string }) => void;
  readonly doctype: (text: string) => void;
  readonly opentagstart: (tag: { readonly name: string }) => void;
  /** `local` and `uri` are there under `xmlns`. */
  readonly opentag: (tag: {
    readonly name: string;
    readonly local: string;
    readonly uri: string;
    readonly attributes: Readonly<Record<string, unknown>>;
  }) => void;
  readonly attribute: (attribute: { readonly name: string; readonly value: string }) => void;
  readonly closetag: (tag: { readonly name: string }) => void;
  readonly text: (text: string) => void;
  readonly cdata: (text: string) => void;
  readonly error: (error: Error) => void;
}

export declare class SaxesParser {
  constructor(options?: { readonly xmlns?: boolean; readonly position?: boolean });
  on<Name extends keyof SaxesEvents>(name: Name, handler: SaxesEvents[Name]): void;
  write(chunk: string): this;
  close(): this;
  readonly line: number;
  readonly column: number;
}
