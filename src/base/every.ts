/**
 * Runs `work` again and again, `interval` milliseconds apart, never twice at once; a failure is told to `onFailure` and waits for the next
 * time. `stop` resolves once nothing is under way any more.
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
