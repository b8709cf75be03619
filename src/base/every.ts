/**
 * Runs `work` every `interval` milliseconds, but not while the last run is under way. After a failure it calls `onFailure`, and the next
 * interval tries again. `stop` resolves once no run is under way.
 */
export function every(interval: number, work: () => Promise<void>, onFailure: () => void): { stop(): Promise<void> } {
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= work()
      .catch(onFailure)
      .finally(() => {
        running = undefined;
      });
  }, interval);
  timer.unref();
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}
