/**
 * Waits a time. For what time alone decides: a limit that passes, the moment of a kill, a slow reader. And for what must not happen
 * meanwhile. For everything else there is `until`. test/waits.test.ts lets no test wait otherwise.
 */
export function lapse(milliseconds: number, reason: string): Promise<void> {
  if (reason === '') throw new Error('why does the test wait?');
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
