/** Polls until `happened` is true; throws after 60 seconds, which are enough for a slow machine. */
export async function until(what: string, happened: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await happened())) {
    if (performance.now() > deadline) throw new Error(`in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
