/** Polls until `happened` answers something else than false or undefined, which it returns. Throws after 60 seconds, enough for a slow machine. */
export async function until<T>(what: string, happened: () => T | Promise<T>): Promise<NonNullable<Exclude<T, false>>> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const value = await happened();
    if (value !== false && value !== undefined && value !== null) return value as NonNullable<Exclude<T, false>>;
    if (performance.now() > deadline) throw new Error(`in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
