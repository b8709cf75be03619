import type { CallScope } from './call-scope.ts';

/**
 * The result of `work`, or a rejection with the scope's reason where the scope is aborted first; the work itself goes on then. Meanwhile this
 * is the one piece of work that the scope has under way (`whenAborted`).
 */
export async function untilAborted<T>(scope: CallScope, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  scope.whenAborted(reject);
  try {
    return await Promise.race([work, promise]);
  } finally {
    scope.whenAborted(undefined);
  }
}

/** Waits, or rejects with the scope's reason where the scope is aborted first. */
export async function pause(scope: CallScope, milliseconds: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  try {
    await untilAborted(scope, promise);
  } finally {
    clearTimeout(timer);
  }
}
