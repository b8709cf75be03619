/** The result of a statement: its rows, and how many rows it changed. */
export interface StatementResult {
  readonly rows: readonly unknown[];
  readonly affected?: number;
  /** PostgreSQL's command tag: `COMMIT` may come back as `ROLLBACK`. */
  readonly command?: string;
}

/** One connection to the store, used by one caller at a time. Rejects with `store-unavailable` or `StatementRefused`. */
export interface StoreSession {
  run(sql: string, parameters: readonly unknown[]): Promise<StatementResult>;
  /** Returns the connection; a broken one is closed. */
  release(): void;
}

/** The number of connections now. */
export interface StoreFigures {
  readonly busy: number;
  readonly idle: number;
  /** Callers that wait for a connection. */
  readonly waiting: number;
}

/** Opens connections: to SQLite workers or of a PostgreSQL pool. */
export interface SessionSource {
  /** The statement that opens a transaction. */
  readonly begin: string;
  /** `group`: groups that wait for a connection take turns, where the source has few. */
  open(group?: string): Promise<StoreSession>;
  figures(): StoreFigures;
  /** Waits for the sessions in use. */
  close(): Promise<void>;
}

/** The connections of several sources. */
export function sumOf(parts: readonly { figures(): StoreFigures }[]): StoreFigures {
  const figures = parts.map((part) => part.figures());
  const sum = (name: keyof StoreFigures): number => figures.reduce((total, one) => total + one[name], 0);
  return { busy: sum('busy'), idle: sum('idle'), waiting: sum('waiting') };
}

/** The source for the work of one group. */
export function ofGroup(source: SessionSource, group: string): SessionSource {
  return { begin: source.begin, open: () => source.open(group), figures: () => source.figures(), close: () => source.close() };
}
