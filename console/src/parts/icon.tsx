import type { JSX } from 'preact';

/** Lines on a square of 20, drawn with the colour of the text. */
const shapes = {
  home: 'M3 9.2 10 3.5l7 5.7V16.5H3z M8 16.5v-4.5h4v4.5',
  automations: 'M11 2.5 4 11.5h5l-1 6 8-9.5h-5z',
  workflows: 'M3 3.5h5v4H3z M12 12.5h5v4h-5z M5.5 7.5v7h6.5 M5.5 10.5',
  runs: 'M10 2.8a7.2 7.2 0 1 0 0 14.4 7.2 7.2 0 0 0 0-14.4z M8.3 7v6l4.7-3z',
  approvals: 'M10 2.5 16 5v5c0 4-2.6 6.3-6 7.5C6.6 16.3 4 14 4 10V5z M7.2 10l2 2 3.6-4',
  adapters: 'M7 2.5v4 M13 2.5v4 M5 6.5h10v3a5 5 0 0 1-10 0z M10 14.5v3',
  explorer: 'M2.8 4h14.4v12H2.8z M6 8l2.4 2L6 12 M10 12.5h4',
  audit: 'M5 2.5h7l3 3v12H5z M7.5 9h5 M7.5 12.5h5',
  notifications: 'M5 13.5V9a5 5 0 0 1 10 0v4.5l1.5 1.5h-13z M8.5 17.3h3',
  access: 'M12.8 3.2a4 4 0 1 0 0 8 4 4 0 0 0 0-8z M10 10 3.2 16.8 M5.2 14.8l2 2',
  api: 'M8 3.5C5.5 3.5 6.5 9 4 10c2.5 1 1.5 6.5 4 6.5 M12 3.5c2.5 0 1.5 5.5 4 6.5-2.5 1-1.5 6.5-4 6.5',
  search: 'M9 3.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 0 0 9 3.2z M13.3 13.3l4 4',
  menu: 'M3 5.5h14 M3 10h14 M3 14.5h14',
  close: 'M5 5l10 10 M15 5 5 15',
  copy: 'M7 7h9v10H7z M13 7V3H4v10h3',
  check: 'M4 10.5l4 4 8-9',
  next: 'M8 5l5 5-5 5',
  down: 'M5 8l5 5 5-5',
  add: 'M10 4v12 M4 10h12',
  edit: 'M4 16l.8-3.6L13 4.2l2.8 2.8-8.2 8.2z',
  delete: 'M4 5.5h12 M8 5.5V3.5h4v2 M5.5 5.5l.8 11h7.4l.8-11',
  pause: 'M7 4.5v11 M13 4.5v11',
  play: 'M6 4l10 6-10 6z',
  clock: 'M10 2.8a7.2 7.2 0 1 0 0 14.4 7.2 7.2 0 0 0 0-14.4z M10 6v4.3l2.8 1.7',
  history: 'M3.5 10a6.5 6.5 0 1 0 2-4.7L3.5 7.2 M3.5 3.5v3.7h3.7 M10 6.5V10l2.5 1.5',
  export: 'M10 3v9 M6.5 8.5 10 12l3.5-3.5 M4 16.5h12',
  import: 'M10 12V3 M6.5 6.5 10 3l3.5 3.5 M4 16.5h12',
  person: 'M10 3.5a3.2 3.2 0 1 0 0 6.4 3.2 3.2 0 0 0 0-6.4z M3.8 17c.6-3.4 3-5 6.2-5s5.6 1.6 6.2 5',
  warning: 'M10 3 18 16.5H2z M10 8v4 M10 14.2v.3',
} as const;

export type IconName = keyof typeof shapes;

/** Every icon. */
export const iconNames = Object.keys(shapes) as readonly IconName[];

/** A drawing next to a word that says the same: a reader of screens leaves it out. */
export function Icon({ of }: { readonly of: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 20 20" aria-hidden="true">
      <path d={shapes[of]} />
    </svg>
  );
}
