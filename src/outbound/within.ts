import type { CallScope } from './call-scope.ts';

/** What `work` comes to, or a rejection with the scope's reason where the scope ends first; the work itself goes on then. */
export async function within<T>(scope: CallScope, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  scope.whenEnded(reject);
  try {
    return await Promise.race([work, promise]);
  } finally {
    scope.whenEnded(undefined);
  }
}
