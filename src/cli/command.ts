import type { Readable, Writable } from 'node:stream';
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
  /** Runs a gateway until it is told to stop; answers the exit code. */
  readonly serve: (options: ServeOptions) => Promise<number>;
  /** Runs a gateway beside the demo orchestrator until told to stop; answers the exit code. */
  readonly demo: (options: DemoOptions) => Promise<number>;
  /** An argon2id PHC string. */
  readonly hashPassword: (password: string) => Promise<string>;
}

export interface ServeOptions extends LoadedConfig {
  /** As the operator named it, relative to `cwd`. */
  readonly configFile: string;
}

export interface DemoOptions {
  readonly adminPassword: string;
  /** Only a generated password is printed. */
  readonly isGenerated: boolean;
}

/** An option that takes a value. */
export interface CommandOption {
  readonly value: string;
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
  /** Arguments that must be given, in order: `FILE`. */
  readonly operands: readonly string[];
  /** Answers the exit code: 0 done, 1 failed. */
  readonly run: (context: CommandContext, given: GivenArguments) => Promise<number>;
}

export interface GivenArguments {
  /** The value of an option, its default where it was not given. */
  readonly option: (name: string) => string;
  /** The operand of that name; always given. */
  readonly operand: (name: string) => string;
}
