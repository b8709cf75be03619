import type { JSX } from 'preact';
import { hrefOf, place } from '../address.ts';

interface TabsProps {
  readonly label: string;
  /** Values of the parameter `view` of the address; the first is empty. */
  readonly of: readonly (readonly [view: string, title: string])[];
  /** Other parameters that the views share. */
  readonly keep?: readonly string[];
}

/** Views of one thing. Each is an address. */
export function Tabs({ label, of, keep = [] }: TabsProps): JSX.Element {
  const { segments, query } = place.value;
  const current = query.get('view') ?? '';
  const kept = Object.fromEntries(keep.map((name) => [name, query.get(name) ?? '']));
  return (
    <nav class="tabs" aria-label={label}>
      <ul>
        {of.map(([view, title]) => (
          <li key={view}>
            <a href={hrefOf(segments, { ...kept, view })} aria-current={view === current ? 'page' : undefined}>
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
