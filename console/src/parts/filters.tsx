import type { ComponentChildren, JSX } from 'preact';
import { goTo, hrefOf, place } from '../address.ts';

/** A form whose controls are the filters of the page: they are in its address. */
export function Filters({ label, children }: { readonly label: string; readonly children: ComponentChildren }): JSX.Element {
  const { segments, query } = place.value;
  const keptRange = Object.fromEntries(['range', 'since', 'until'].map((name) => [name, query.get(name) ?? '']));
  const apply = (form: HTMLFormElement): void => {
    const given = [...new FormData(form)].flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value.trim()] as const] : [],
    );
    goTo(hrefOf(segments, { ...keptRange, ...Object.fromEntries(given) }));
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
