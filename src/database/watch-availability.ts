import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import { isWriteRefusal } from './store-failure.ts';
import type { SessionSource, StoreSession } from './store-session.ts';

export interface Availability {
  failed(error: unknown): void;
  /** `changed`: a write is committed. */
  answered(changed: boolean): void;
}

/** Logs once when the store stops answering and once when it answers again, and not for each call. `name`: `the store`, or one of its files. */
export function logAvailability(name: string, log: Log): Availability {
  let down = false;
  /** The store refuses writes: a successful read does not show that it works again. */
  let onlyReads = false;
  return {
    failed(error) {
      if (!(error instanceof GatewayError)) return;
      onlyReads ||= isWriteRefusal(error);
      if (down) return;
      down = true;
      log.error(`${name} is unavailable`, { reason: error.cause instanceof Error ? error.cause.message : error.code });
    },
    answered(changed) {
      if (!down || (onlyReads && !changed)) return;
      down = false;
      onlyReads = false;
      log.info(`${name} answers again`);
    },
  };
}

/** Reports the result of each statement and of each new connection to `availability`. */
export function watchAvailability(source: SessionSource, availability: Availability): SessionSource {
  const watch = (session: StoreSession): StoreSession => {
    let transaction = false;
    let changed = false;
    return {
      async run(sql, parameters) {
        if (sql === source.begin) transaction = true;
        if (sql === 'commit' || sql === 'rollback') transaction = false;
        try {
          const result = await session.run(sql, parameters);
          changed = sql !== 'rollback' && (changed || (result.affected ?? 0) > 0);
          // A statement within a transaction proves nothing: on a full disk everything succeeds until the commit.
          if (transaction || sql === 'rollback') return result;
          availability.answered(changed);
          changed = false;
          return result;
        } catch (error) {
          availability.failed(error);
          throw error;
        }
      },
      release: () => session.release(),
    };
  };
  return {
    begin: source.begin,
    async open() {
      try {
        return watch(await source.open());
      } catch (error) {
        availability.failed(error);
        throw error;
      }
    },
    figures: () => source.figures(),
    close: () => source.close(),
  };
}
