type Interruption = 'SIGINT' | 'SIGTERM';

interface InterruptedProcess {
  on(signal: Interruption, handler: () => void): unknown;
  off(signal: Interruption, handler: () => void): unknown;
  exit(code: number): never;
}

/** Runs `work` with a signal that the first SIGINT or SIGTERM aborts. A second one ends the process at once. */
export async function untilInterrupted<T>(
  process: InterruptedProcess,
  work: (interruption: AbortSignal) => Promise<T>,
): Promise<T> {
  const interruption = new AbortController();
  const interrupt = (): void => {
    if (interruption.signal.aborted) process.exit(1);
    interruption.abort();
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  try {
    return await work(interruption.signal);
  } finally {
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', interrupt);
  }
}
