import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import { isWriteRefusal } from './store-failure.ts';
import type { SessionSource, StoreSession } from './store-session.ts';

export interface Availability {
  failed(error: unknown): void;
  /** `changed`: something was written, and is kept. */
  answered(changed: boolean): void;
}

/** Logs once when the store stops answering and once when it answers again, instead of once a call. `name`: `the store`, or which file of it. */
export function logAvailability(name: string, log: Log): Availability {
  let down = false;
  /** It refuses to be written: that it can be read is no news. */
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

/** Tells `availability` of each statement and each opening, how it went. */
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
          // Within a transaction nothing is proved: on a full disk all of it goes well up to the commit.
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
