import type { CallScope } from './call-scope.ts';

/**
 * What `work` comes to, or a rejection with the scope's reason where the scope ends first; the work itself goes on then. Until it is over
 * it is the one thing that the scope has under way (`whenEnded`).
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

/** Waits, or rejects with the scope's reason where the scope ends first. */
export async function pause(scope: CallScope, milliseconds: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  try {
    await untilAborted(scope, promise);
  } finally {
    clearTimeout(timer);
  }
}
