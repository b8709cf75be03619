import type { Readable, Writable } from 'node:stream';
import type { AskedPrincipal } from '#access/asked-principal.ts';
import type { AuditReader } from '#audit/audit-reader.ts';
import type { Config } from '#config/config.ts';
import type { LoadedConfig } from '#config/load-config.ts';
import type { StoredConfig } from '#config/stored-config.ts';

/** What commands need from outside, so that no command touches `process`. */
export interface CommandContext {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The directory to which file names are relative. */
  readonly cwd: string;
  /** How this program was started, for messages that name a command to type: `npx orchestration-gateway`. */
  readonly invocation: string;
  /** True if standard input is a terminal, where passwords are typed without echo. */
  readonly isTerminal: boolean;
  /** True if standard output is a terminal. */
  readonly printsToTerminal: boolean;
  /** Columns of the terminal on standard output. Undefined if standard output is not a terminal: then no line is shortened. */
  readonly outputColumns: number | undefined;
  /** Columns of the terminal on standard error. Undefined if standard error is not a terminal: then no progress is shown. */
  readonly progressColumns: number | undefined;
  /** Runs a gateway until a signal stops it. Resolves with the exit code. */
  readonly serve: (options: ServeOptions) => Promise<number>;
  /** Runs a gateway with the demo orchestrator until a signal stops it. Resolves with the exit code. */
  readonly demo: (options: DemoOptions) => Promise<number>;
  /** Resolves with an argon2id PHC string. */
  readonly hashPassword: (password: string) => Promise<string>;
  /** Opens the audit log of the configured store, and closes it when `work` ends. */
  readonly withAudit: <T>(config: StoredConfig, work: (audit: AuditReader) => Promise<T>) => Promise<T>;
  /**
   * Opens the catalogue of the configured store, and closes it when `work` ends. `read` needs a store that exists. Rejects with a
   * GatewayError if the store cannot be opened.
   */
  readonly withCatalogue: <T>(
    config: StoredConfig,
    use: 'read' | 'write',
    work: (catalogue: StoredCatalogue) => Promise<T>,
  ) => Promise<T>;
  /** Asks the decision about a call under the rules of a configuration. Nothing is sent, and no store is opened. */
  readonly explain: (config: Config, question: ExplainQuestion) => Promise<ExplainAnswer>;
  /** The first SIGINT or SIGTERM during `work` aborts its signal; a second one ends the process. */
  readonly untilInterrupted: <T>(work: (interruption: AbortSignal) => Promise<T>) => Promise<T>;
}

/** A question about a call; texts as they were typed. */
export interface ExplainQuestion extends AskedPrincipal {
  readonly route: string;
  readonly adapter?: string | undefined;
  readonly method?: string | undefined;
  readonly path?: string | undefined;
  readonly via?: string | undefined;
  /** The text of a workflow document. */
  readonly workflow?: string | undefined;
}

export type ExplainAnswer =
  /** `keys`: the key paths of the configuration that led to the answer. */
  | {
      readonly allowed: boolean;
      readonly rule: string;
      readonly reason: string;
      readonly approvals: readonly string[];
      readonly keys: readonly string[];
    }
  /** `pointer`: a member of the question (RFC 6901). */
  | { readonly problems: readonly { readonly pointer: string; readonly detail: string }[] };

/** The automation catalogue of a store, without a running gateway. Everyone with access to the store may do everything. */
export interface StoredCatalogue {
  /**
   * Imports NDJSON in transactions of 20,000 documents, each all or nothing. Rejects with a GatewayError, which names bad lines with pointers
   * `/LINE/field`, or with an error of `source`. If `interruption` is aborted before the end, rejects with its reason.
   */
  import(
    source: AsyncIterable<Buffer>,
    options: ImportOptions,
  ): Promise<{ readonly imported: number; readonly replaced: number }>;
  /** Every document of a snapshot as a line of JSON without its newline, in groups. */
  export(): AsyncIterable<readonly string[]>;
}

interface ImportOptions {
  readonly interruption: AbortSignal;
  /** Called often. */
  readonly onProgress: (progress: ImportProgress) => void;
  /** Called after each transaction, with its last line: what it has stays, also where the import fails later. */
  readonly onStored: (line: number) => void;
}

/** The progress of an import. All lines of a transaction are read and checked before its first document is written. */
export interface ImportProgress {
  readonly step: 'reading' | 'writing';
  /** Lines read or documents written. */
  readonly lines: number;
  /** Bytes read. */
  readonly bytes: number;
}

export interface ServeOptions extends LoadedConfig {
  /** The name that the operator gave, relative to `cwd`. */
  readonly configFile: string;
  /**
   * Reads that file and every file that it names again. Rejects with a ConfigError. Undefined for the demo, which makes its own
   * configuration.
   */
  readonly loadAgain?: () => Promise<LoadedConfig>;
}

export interface DemoOptions {
  /** How this program was started, for the printed commands. */
  readonly invocation: string;
  /** Undefined: the password of the last demo in this folder, or a new one. Part of the printed calls, which can be copied and run. */
  readonly adminPassword: string | undefined;
}

/** An option that takes a value. */
export interface CommandOption {
  readonly value: string;
  /** Empty if the option has no default. */
  readonly default: string;
  readonly meaning: string;
}

/** One command. Its help and its argument checks are made from this value. */
export interface Command {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  readonly description: readonly string[];
  readonly options: Readonly<Record<string, CommandOption>>;
  /** Options without a value, and their meanings. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Required arguments in order, such as `FILE`. The last one may be `FILE…`, one argument or more, or `[FILE…]`, any number. */
  readonly operands: readonly string[];
  /** An option whose value may also be the last argument, without `--name`. */
  readonly bareOption?: string;
  /** Resolves with the exit code: 0 success, 1 failure. */
  readonly run: (context: CommandContext, given: GivenArguments) => Promise<number>;
}

export interface GivenArguments {
  /** The value of an option, or its default. */
  readonly option: (name: string) => string;
  /** True if the flag was given. */
  readonly flag: (name: string) => boolean;
  /** The operand of that name. */
  readonly operand: (name: string) => string;
  /** All arguments from the operand of that name on. */
  readonly operands: (name: string) => readonly string[];
}
