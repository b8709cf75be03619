import type { ComponentChildren, JSX } from 'preact';
import { goTo, hrefOf, place } from '../address.ts';

/** A form whose controls are the filters of the page: they are in its address. */
export function Filters({ label, children }: { readonly label: string; readonly children: ComponentChildren }): JSX.Element {
  const { segments, query } = place.value;
  const apply = (form: HTMLFormElement): void => {
    const given = [...new FormData(form)].flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value.trim()] as const] : [],
    );
    goTo(hrefOf(segments, Object.fromEntries(given)));
  };
  return (
    <search>
      <form
        key={query.toString()}
        class="filters"
        aria-label={label}
        onSubmit={(event) => {
          event.preventDefault();
          apply(event.currentTarget);
        }}
      >
        {children}
        <div class="buttons">
          <button type="submit">Filter</button>
          {query.size > 0 && <a href={hrefOf(segments)}>Clear</a>}
        </div>
      </form>
    </search>
  );
}

interface DaysProps {
  /** The names of the filters that the links set. */
  readonly from: string;
  readonly to: string;
}

/** Links that set the filters of time to a day of the reader's time zone. */
export function Days({ from, to }: DaysProps): JSX.Element {
  const { segments, query } = place.value;
  const midnight = (days: number): string => {
    const date = new Date();
    date.setHours(0, 0, 0, 0);
    date.setDate(date.getDate() + days);
    return date.toISOString();
  };
  const days = [
    ['Today', midnight(0), ''],
    ['Yesterday', midnight(-1), midnight(0)],
    ['Last 7 days', midnight(-6), ''],
  ] as const;
  return (
    <nav class="days" aria-label="Days">
      {days.map(([name, begin, end]) => (
        <a
          key={name}
          href={hrefOf(segments, { ...Object.fromEntries(query), [from]: begin, [to]: end })}
          aria-current={(query.get(from) ?? '') === begin && (query.get(to) ?? '') === end ? 'true' : undefined}
        >
          {name}
        </a>
      ))}
    </nav>
  );
}
