/** The result of `work`. After `limit` milliseconds it is what `late` returns or throws instead, and the work itself goes on. */
export async function inTime<T>(work: Promise<T>, limit: number, late: () => T): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, limit);
  try {
    return await Promise.race([work, promise.then(late)]);
  } finally {
    clearTimeout(timer);
  }
}
