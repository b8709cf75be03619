import type { Readable, Writable } from 'node:stream';
import type { AuditReader } from '#audit/audit-reader.ts';
import type { AuditVerdict } from '#audit/audit-verification.ts';
import type { Checkpoint } from '#audit/checkpoint.ts';
import type { Config } from '#config/config.ts';
import type { LoadedConfig } from '#config/load-config.ts';

/** What the commands need of the outside, so that none of them touches `process`. */
export interface CommandContext {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where relative file names start. */
  readonly cwd: string;
  /** Is standard input a terminal, where a password is asked for without echo? */
  readonly isTerminal: boolean;
  /** Is standard output a terminal? */
  readonly printsToTerminal: boolean;
  /** Columns of the terminal that standard error is; undefined where it is none, and no progress is shown. */
  readonly progressColumns: number | undefined;
  /** Runs a gateway until it is told to stop; answers the exit code. */
  readonly serve: (options: ServeOptions) => Promise<number>;
  /** Runs a gateway beside the demo orchestrator until told to stop; answers the exit code. */
  readonly demo: (options: DemoOptions) => Promise<number>;
  /** An argon2id PHC string. */
  readonly hashPassword: (password: string) => Promise<string>;
  /** Opens the audit log on the configured store for as long as the work takes. */
  readonly withAudit: <T>(config: Config, work: (audit: StoredAudit) => Promise<T>) => Promise<T>;
  /**
   * Opens the catalogue on the configured store and closes it when `work` is done; to `read` a store has to be there. Rejects with a
   * GatewayError where it cannot.
   */
  readonly withCatalogue: <T>(
    config: Config,
    use: 'read' | 'write',
    work: (catalogue: StoredCatalogue) => Promise<T>,
  ) => Promise<T>;
  /** The first SIGINT or SIGTERM while `work` runs aborts its signal; a second one ends the process. */
  readonly untilInterrupted: <T>(work: (interruption: AbortSignal) => Promise<T>) => Promise<T>;
}

/** The audit log on its store, without a gateway around it. */
export interface StoredAudit extends AuditReader {
  verify(checkpoints: AsyncIterable<Checkpoint>): Promise<AuditVerdict>;
}

/** The automation catalogue on its store, without a gateway around it: whoever has the store's rights may do all. */
export interface StoredCatalogue {
  /**
   * Takes in NDJSON, all of it or nothing. Rejects with a GatewayError, which names bad lines by the pointers `/LINE/field`; with the
   * reason of `interruption` where that came before the end, and nothing was changed; with what `source` throws.
   */
  import(
    source: AsyncIterable<Buffer>,
    options: ImportOptions,
  ): Promise<{ readonly imported: number; readonly replaced: number }>;
  /** Every document of one moment as a line of JSON without its newline, some at a time. */
  export(): AsyncIterable<readonly string[]>;
}

interface ImportOptions {
  readonly interruption: AbortSignal;
  /** Called often. */
  readonly onProgress: (progress: ImportProgress) => void;
}

/** How far an import is. Every line is read and judged before the first is written. */
export interface ImportProgress {
  readonly step: 'reading' | 'writing';
  /** Lines read, or documents written. */
  readonly lines: number;
  /** Bytes read. */
  readonly bytes: number;
}

export interface ServeOptions extends LoadedConfig {
  /** As the operator named it, relative to `cwd`. */
  readonly configFile: string;
  /** Reads that file and all that it names once more. Rejects with a ConfigError. Absent for the demo, which writes its own. */
  readonly loadAgain?: () => Promise<LoadedConfig>;
}

export interface DemoOptions {
  /** Printed, so that the calls that are printed work as they stand. */
  readonly adminPassword: string;
}

/** An option that takes a value. */
export interface CommandOption {
  readonly value: string;
  /** Empty where leaving it out means something else than any value. */
  readonly default: string;
  readonly meaning: string;
}

/** One command: its help is made of these words, its arguments are checked against them. */
export interface Command {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  readonly description: readonly string[];
  readonly options: Readonly<Record<string, CommandOption>>;
  /** Options that take no value, and what they mean. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Arguments that must be given, in order: `FILE`. */
  readonly operands: readonly string[];
  /** Answers the exit code: 0 done, 1 failed. */
  readonly run: (context: CommandContext, given: GivenArguments) => Promise<number>;
}

export interface GivenArguments {
  /** The value of an option, its default where it was not given. */
  readonly option: (name: string) => string;
  /** True where it was given. */
  readonly flag: (name: string) => boolean;
  /** The operand of that name; always given. */
  readonly operand: (name: string) => string;
}
