import type { Readable, Writable } from 'node:stream';
import type { AuditReader } from '#audit/audit-reader.ts';
import type { Config } from '#config/config.ts';
import type { Finding } from '#config/finding.ts';
import type { LoadedConfig, StoredConfig } from '#config/load-config.ts';

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
  /** What commands do with the store and the machine of a gateway. Loaded when a command needs it. */
  readonly maintenance: () => Promise<Maintenance>;
  /** The first SIGINT or SIGTERM during `work` aborts its signal; a second one ends the process. */
  readonly untilInterrupted: <T>(work: (interruption: AbortSignal) => Promise<T>) => Promise<T>;
}

/** Every function rejects with a GatewayError whose message is for the operator. */
export interface Maintenance {
  /** Writes a backup of a SQLite store to a new file. */
  backUp(config: StoredConfig, target: string): Promise<{ readonly size: number }>;
  /** Makes the SQLite store of the configuration from a backup. `madeAt`: milliseconds since the epoch. */
  restore(config: StoredConfig, file: string): Promise<{ readonly version: string; readonly madeAt: number }>;
  /** Marks a PostgreSQL store as restored from a backup. */
  markRestored(config: StoredConfig): Promise<void>;
  /** Asks the gateway at this address whether it is well. Resolves with the status of its reply. */
  checkHealth(url: string): Promise<number>;
  /** Which program this is. */
  examineProgram(): Promise<Finding>;
  /** Looks at an installation. `file`: the configuration, absolute. */
  examine(config: Config, file: string): AsyncIterable<Finding>;
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
  readonly default?: string;
  readonly meaning: string;
  /** Other values are refused. */
  readonly values?: readonly string[];
  readonly isRequired?: true;
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
  /** The value of an option, or its default; empty where it has none. */
  readonly option: (name: string) => string;
  readonly flag: (name: string) => boolean;
  readonly operand: (name: string) => string;
  /** All arguments from the operand of that name on. */
  readonly operands: (name: string) => readonly string[];
}
