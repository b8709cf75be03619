/** Where the control that had the focus is gone, the heading of the page gets it, so that a keyboard goes on from there. */
export function keepFocus(): void {
  // The page is drawn again after this.
  setTimeout(() => {
    if (document.activeElement === document.body || document.activeElement === null) {
      document.querySelector('h1')?.focus({ preventScroll: true });
    }
  }, 300);
}
