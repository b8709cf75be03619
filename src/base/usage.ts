/** Counts who uses a thing, so that what was replaced can be closed behind its last user. */
interface Usage {
  /** Runs `work`; the thing is in use until it settles. */
  during<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves once nobody uses it. Whoever asks sees to it that nobody begins any more. */
  over(): Promise<void>;
}

export function createUsage(): Usage {
  let users = 0;
  let waiting: PromiseWithResolvers<void> | undefined;
  return {
    async during(work) {
      users += 1;
      try {
        return await work();
      } finally {
        users -= 1;
        if (users === 0) waiting?.resolve();
      }
    },
    over() {
      if (users === 0) return Promise.resolve();
      waiting ??= Promise.withResolvers();
      return waiting.promise;
    },
  };
}
