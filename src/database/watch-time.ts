import type { SessionSource } from './store-session.ts';

/** Told how long the store takes; milliseconds. */
export interface StoreWatcher {
  /** For a connection. */
  waited(access: 'read' | 'write', milliseconds: number): void;
  /** For a statement. */
  ran(access: 'read' | 'write', milliseconds: number): void;
}

/** Times each wait for a connection and each statement, whatever comes of it. */
export function watchTime(source: SessionSource, access: 'read' | 'write', watcher: StoreWatcher): SessionSource {
  return {
    begin: source.begin,
    async open() {
      const askedAt = performance.now();
      const session = await source.open().finally(() => watcher.waited(access, performance.now() - askedAt));
      return {
        async run(sql, parameters) {
          const startedAt = performance.now();
          try {
            return await session.run(sql, parameters);
          } finally {
            watcher.ran(access, performance.now() - startedAt);
          }
        },
        release: () => session.release(),
      };
    },
    figures: () => source.figures(),
    close: () => source.close(),
  };
}
