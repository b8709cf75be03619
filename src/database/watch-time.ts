import type { SessionSource } from './store-session.ts';

/** Receives times in milliseconds. */
export interface StoreWatcher {
  /** A wait for a connection. */
  waited(access: 'read' | 'write', milliseconds: number): void;
  /** A statement. */
  ran(access: 'read' | 'write', milliseconds: number): void;
}

/** Measures each wait for a connection and each statement, also of those that fail. */
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
