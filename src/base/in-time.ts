/** What `work` comes to, or what `late` answers or throws where it takes longer than `limit` milliseconds; the work itself goes on then. */
export async function inTime<T>(work: Promise<T>, limit: number, late: () => T): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, limit);
  try {
    return await Promise.race([work, promise.then(late)]);
  } finally {
    clearTimeout(timer);
  }
}
