import type { Consumption, EventFilter, ListenTask } from '#workflows/workflow.ts';
import { enclose, mentions, oncePer } from '../programs.ts';
import type { ListenWork } from '../state/run-state.ts';

/** An event that came this long before the `listen` began counts, unless it came before the run was created. Milliseconds. */
export const grace = 5 * 60_000;

/** With its index among the filters of the same purpose. */
export interface NumberedFilter {
  readonly filter: EventFilter;
  readonly index: number;
  readonly until: boolean;
}

/** Filters of `to` and, before them, of its `until`: an event that ends the listening is none of its events. */
export const numberedFilters = oncePer((task: ListenTask): readonly NumberedFilter[] => {
  const until = untilEvents(task.to);
  const number = (consumption: Consumption | undefined, isUntil: boolean): readonly NumberedFilter[] =>
    filtersOf(consumption).map((filter, index) => ({ filter, index, until: isUntil }));
  return [...number(until, true), ...number(task.to, false)];
});

/** The events that end the listening, where `until` is no condition. */
export function untilEvents(to: ListenTask['to']): Consumption | undefined {
  return to.kind === 'any' && to.until !== undefined && 'kind' in to.until ? to.until : undefined;
}

const everything: EventFilter = { matches: { jq: 'true', constant: 'true' }, correlate: [] };

function filtersOf(consumption: Consumption | undefined): readonly EventFilter[] {
  if (consumption === undefined) return [];
  if (consumption.kind === 'one') return [consumption.filter];
  return consumption.kind === 'any' && consumption.filters.length === 0 ? [everything] : consumption.filters;
}

export const filterNames = oncePer((task: ListenTask): ReadonlySet<string> => {
  const filters = numberedFilters(task).map(({ filter }) => filter);
  const texts = filters.flatMap(({ matches, correlate }) => [matches.jq, ...correlate.map(({ from }) => from.jq)]);
  return new Set(texts.flatMap((jq) => mentions(jq)));
});

/**
 * jq that gives, for an event, `[index of the filter, [correlation values], what is read]`, or null where no filter matches. An expression
 * that fails does not match: no stranger's event makes a run fail.
 */
export function matchExpression(task: ListenTask, work: ListenWork): string {
  const read = `(${readings[task.read]})`;
  const open = numberedFilters(task)
    .map((numbered, at) => ({ ...numbered, at }))
    .filter(({ index, until }) => !(until ? work.untilTaken : work.taken).includes(index));
  return open.reduceRight((rest, { filter, until, at }) => {
    const values = filter.correlate.map(({ from }) => `([try ${enclose(from.jq)} catch null] | .[0])`).join(', ');
    const expected = filter.correlate.map(({ name }, index) => {
      const value = work.expected.find((one) => one.name === name)?.value;
      return `($__correlated[${index}] ${value === undefined ? '!= null' : `== ${value.text}`})`;
    });
    const conditions = [`(try any(${enclose(filter.matches.jq)}; .) catch false)`, ...expected].join(' and ');
    const result = `[${at}, $__correlated, ${until ? 'null' : read}]`;
    return `([${values}] as $__correlated | if ${conditions} then ${result} else ${rest} end)`;
  }, 'null');
}

/** `raw` is the data as text; data of another form than JSON is text already. */
const readings = {
  data: 'if has("data") then .data else .data_base64 end',
  envelope: '.',
  raw: 'if has("data") then .data | if type == "string" then . else tojson end else .data_base64 end',
} as const;

/** `taken`: the filters that had their event. */
export function isSatisfied(consumption: Consumption, taken: readonly number[]): boolean {
  return taken.length >= (consumption.kind === 'all' ? consumption.filters.length : 1);
}
