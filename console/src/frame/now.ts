import { signal } from '@preact/signals';

/** The time that relative times count from, in milliseconds. It moves on by itself. */
export const now = signal(Date.now());

const step = 20_000;

/** Lets the relative times of the page grow old. */
export function keepTime(): void {
  const look = (): void => {
    if (document.visibilityState === 'visible') now.value = Date.now();
  };
  setInterval(look, step);
  document.addEventListener('visibilitychange', look);
}
