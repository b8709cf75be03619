/**
 * Gives the focus to the heading of the page where the control that had it is taken away. So a keyboard goes on from there.
 * A click on an empty place of the page leaves the control where it is, and changes nothing.
 */
export function keepFocus(root: Element): void {
  let last: Element | undefined;
  document.addEventListener('focusin', ({ target }) => {
    last = target instanceof Element ? target : undefined;
  });
  const watch = (): void => {
    const isLost = document.activeElement === document.body || document.activeElement === null;
    if (last === undefined || last.isConnected || !isLost) return;
    root.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true });
  };
  new MutationObserver(watch).observe(root, { childList: true, subtree: true });
}
