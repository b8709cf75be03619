import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { goTo, hrefOf, place } from '../address.ts';
import { fromLocalInput, localInput, namedRanges, type RangeName, rangeOf, type TimeRange } from '../time-range.ts';
import { Field, textOf } from './field.tsx';
import { Icon } from './icon.tsx';

const timed: ReadonlySet<string> = new Set(['', 'runs', 'audit', 'adapters']);
const members = ['range', 'since', 'until'] as const;

/** The range of the open page for another page that has one, so that a person who follows a trace keeps it. */
export function keptRange(section: string): Readonly<Record<string, string>> {
  const { segments, query } = place.value;
  const [from = ''] = segments;
  if (!timed.has(section) || !timed.has(from) || section === from) return {};
  return Object.fromEntries(members.map((name) => [name, query.get(name) ?? '']));
}

/** Chooses the range of the page by its name, or by two times. The address holds it. */
export function TimeRangePicker({ byDefault = '' }: { readonly byDefault?: RangeName | '' }): JSX.Element {
  const { segments, query } = place.value;
  const box = useRef<HTMLDetailsElement>(null);
  const range = rangeOf(query, byDefault);
  const isNamed = !query.has('since') && !query.has('until');
  const current = isNamed ? query.get('range') || byDefault : undefined;
  const choose = (chosen: Readonly<Partial<Record<(typeof members)[number], string>>>): void => {
    const others = [...query].filter(([name]) => name !== 'range' && name !== 'since' && name !== 'until' && name !== 'cursor');
    box.current?.removeAttribute('open');
    box.current?.querySelector('summary')?.focus();
    goTo(hrefOf(segments, { ...Object.fromEntries(others), ...chosen }));
  };
  return (
    <details
      class="range"
      ref={box}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !event.currentTarget.open) return;
        event.currentTarget.open = false;
        event.currentTarget.querySelector('summary')?.focus();
      }}
    >
      <summary class="button" aria-label={`Time: ${range.title}`}>
        <Icon of="clock" /> {range.title} <Icon of="down" />
      </summary>
      <div class="range-choice">
        <div class="range-names">
          {[...(byDefault === '' ? [['', 'Any time'] as const] : []), ...namedRanges].map(([name, title]) => (
            <button
              key={name}
              type="button"
              aria-pressed={name === current}
              onClick={() => choose({ range: name === byDefault ? '' : name })}
            >
              {title}
            </button>
          ))}
        </div>
        <OwnRange range={range} choose={choose} />
      </div>
    </details>
  );
}

interface OwnRangeProps {
  readonly range: TimeRange;
  readonly choose: (chosen: { readonly since: string; readonly until: string }) => void;
}

function OwnRange({ range: { since, until }, choose }: OwnRangeProps): JSX.Element {
  return (
    <form
      aria-label="A range of its own"
      onSubmit={(event) => {
        event.preventDefault();
        const form = event.currentTarget;
        choose({ since: fromLocalInput(textOf(form, 'since')), until: fromLocalInput(textOf(form, 'until')) });
      }}
    >
      <Field label="From">
        {(ids) => <input {...ids} key={since} name="since" type="datetime-local" defaultValue={localInput(since)} />}
      </Field>
      <Field label="To">
        {(ids) => <input {...ids} key={until} name="until" type="datetime-local" defaultValue={localInput(until)} />}
      </Field>
      <button type="submit">Show this range</button>
    </form>
  );
}
