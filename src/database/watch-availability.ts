import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import { createOutageLog } from '#base/outage-log.ts';
import { isWriteRefusal, reasonOfFailure } from './store-failure.ts';
import type { SessionSource, StoreSession } from './store-session.ts';

export interface Availability {
  failed(error: unknown): void;
  /** `changed`: a write is committed. */
  answered(changed: boolean): void;
  /** Why the store refused the last write; undefined once a write is committed. */
  refusal(): GatewayError | undefined;
}

/** Logs when the store stops answering and when it answers again, and not for each call. `name`: `the store`, or one of its files. */
export function logAvailability(name: string, log: Log, now?: () => number): Availability {
  const outages = createOutageLog(log, { began: `${name} is unavailable`, ended: `${name} answers again` }, now);
  /** While the store refuses writes, a successful read does not show that it works again. */
  let refusal: GatewayError | undefined;
  return {
    failed(error) {
      if (!(error instanceof GatewayError)) return;
      if (isWriteRefusal(error)) refusal = error;
      outages.failed({ reason: reasonOfFailure(error) });
    },
    answered(changed) {
      if (refusal !== undefined && !changed) return;
      refusal = undefined;
      outages.worked();
    },
    refusal: () => refusal,
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
