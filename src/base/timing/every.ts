interface EveryOptions {
  /** A run begins although the last one is under way: one statement that hangs stops no other. */
  readonly overlaps?: boolean;
}

/**
 * Runs `work` every `interval` milliseconds, but not while the last run is under way. After a failure it calls `onFailure`, and the next
 * interval tries again. `stop` resolves once no run is under way.
 */
export function every(
  interval: number,
  work: () => Promise<void>,
  onFailure: () => void,
  { overlaps = false }: EveryOptions = {},
): { stop(): Promise<void> } {
  const running = new Set<Promise<void>>();
  const timer = setInterval(() => {
    if (running.size > 0 && !overlaps) return;
    const run = work()
      .catch(onFailure)
      .finally(() => running.delete(run));
    running.add(run);
  }, interval);
  timer.unref();
  return {
    async stop() {
      clearInterval(timer);
      await Promise.all(running);
    },
  };
}
