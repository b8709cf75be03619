/** What a statement gave: its rows, and for a statement that changes rows how many. */
export interface StatementResult {
  readonly rows: readonly unknown[];
  readonly affected?: number;
  /** PostgreSQL's command tag: `COMMIT` may come back as `ROLLBACK`. */
  readonly command?: string;
}

/** One connection of the store, lent to one user at a time. Rejects with `store-unavailable` or `StatementRefused`. */
export interface StoreSession {
  run(sql: string, parameters: readonly unknown[]): Promise<StatementResult>;
  /** Gives the connection back; a broken one is thrown away. */
  release(): void;
}

/** What there is of connections now. */
export interface StoreFigures {
  readonly busy: number;
  readonly idle: number;
  /** Users that wait for one. */
  readonly waiting: number;
}

/** Where connections come from: the SQLite worker or a PostgreSQL pool. */
export interface SessionSource {
  /** The statement that opens a transaction. */
  readonly begin: string;
  open(): Promise<StoreSession>;
  figures(): StoreFigures;
  /** Waits for the sessions that are out. */
  close(): Promise<void>;
}

/** The connections of several. */
export function sumOf(parts: readonly { figures(): StoreFigures }[]): StoreFigures {
  const figures = parts.map((part) => part.figures());
  const sum = (name: keyof StoreFigures): number => figures.reduce((total, one) => total + one[name], 0);
  return { busy: sum('busy'), idle: sum('idle'), waiting: sum('waiting') };
}
