import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import type { SessionSource } from './store-session.ts';

/** Logs once when the store stops answering and once when it answers again, instead of once a call. */
export function watchAvailability(source: SessionSource, log: Log): SessionSource {
  let down = false;
  const watched = async <T>(answer: Promise<T>): Promise<T> => {
    try {
      const value = await answer;
      if (down) log.info('the store answers again');
      down = false;
      return value;
    } catch (error) {
      if (!down && error instanceof GatewayError) {
        down = true;
        log.error('the store is unavailable', { reason: error.cause instanceof Error ? error.cause.message : error.code });
      }
      throw error;
    }
  };
  return {
    begin: source.begin,
    open: async () => {
      const session = await watched(source.open());
      return { run: (sql, parameters) => watched(session.run(sql, parameters)), release: () => session.release() };
    },
    close: () => source.close(),
  };
}
