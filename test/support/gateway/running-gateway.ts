/** What a gateway is started with. The directory has its configuration and its store. */
export interface Served {
  readonly directory: string;
  readonly configFile: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The executable of another version. */
  readonly program?: string | undefined;
}

/** A gateway, in this process or in a child. */
export interface RunningGateway<Signal> {
  /** Resolves to its port once it listens. Rejects with its lines where it ends before that. */
  readonly ready: Promise<number>;
  /** The lines of standard output so far. */
  readonly stdout: readonly string[];
  /** The lines of standard error so far. */
  readonly stderr: readonly string[];
  signal(name: Signal): void;
  /** Ends it without a wait for the calls in flight. */
  endNow(): void;
  /** The exit code, or the signal that ended it; undefined while it runs. */
  end(): number | string | undefined;
  /** Resolves to its end. */
  ended(): Promise<number | string>;
}
