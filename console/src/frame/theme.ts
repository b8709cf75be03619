import { effect, signal } from '@preact/signals';

export const themes = [
  ['', 'System'],
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const;

const key = 'console-theme';

/** `light`, `dark`, or empty: what the system says. */
export const theme = signal(kept());

/** Follows the choice of the person; this browser keeps it. */
export function followTheme(): void {
  effect(() => {
    document.documentElement.style.colorScheme = theme.value;
  });
}

export function chooseTheme(chosen: string): void {
  theme.value = chosen;
  try {
    localStorage.setItem(key, chosen);
  } catch {
    // A browser may refuse storage; the choice then holds until the page is loaded again.
  }
}

function kept(): string {
  try {
    const found = localStorage.getItem(key) ?? '';
    return themes.some(([name]) => name === found) ? found : '';
  } catch {
    return '';
  }
}
