import type { Owner } from '../../test/support/owner.ts';

/** Does some work and closes what the work started, the newest first, also after SIGINT and SIGTERM. */
export async function owning<T>(work: (owner: Owner) => Promise<T>): Promise<T> {
  const closers: (() => void | Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (let closer = closers.pop(); closer !== undefined; closer = closers.pop()) await closer();
  };
  const interrupted = (): void => void close().finally(() => process.exit(130));
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.once(signal, interrupted);
  try {
    return await work({ after: (closer) => void closers.push(closer) });
  } finally {
    for (const signal of signals) process.off(signal, interrupted);
    await close();
  }
}
