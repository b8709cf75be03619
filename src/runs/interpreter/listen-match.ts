import type { Consumption, EventFilter, ListenTask } from '#workflows/workflow.ts';
import type { JsonValue } from './json-value.ts';
import { enclosed, mentions, oncePer } from './programs.ts';
import type { ListenWork } from './run-state.ts';

/** An event that came this long before the `listen` began counts, unless it came before the run was created. Milliseconds. */
export const grace = 5 * 60_000;

/** A filter of a `listen`, with its index among those of the same purpose. */
export interface NumberedFilter {
  readonly filter: EventFilter;
  readonly index: number;
  readonly until: boolean;
}

/** Filters of `to` and, before them, of its `until`: an event that ends the listening is none of its events. */
export const numberedFilters = oncePer((task: ListenTask): readonly NumberedFilter[] => {
  const { to } = task;
  const until = to.kind === 'any' && to.until !== undefined && 'kind' in to.until ? filtersOf(to.until) : [];
  const numbered = (filters: readonly EventFilter[], isUntil: boolean): readonly NumberedFilter[] =>
    filters.map((filter, index) => ({ filter, index, until: isUntil }));
  return [...numbered(until, true), ...numbered(filtersOf(to), false)];
});

const everything: EventFilter = { matches: { jq: 'true', constant: 'true' }, correlate: [] };

function filtersOf(consumption: Consumption): readonly EventFilter[] {
  if (consumption.kind === 'one') return [consumption.filter];
  return consumption.kind === 'any' && consumption.filters.length === 0 ? [everything] : consumption.filters;
}

/** Variables that the filters mention. */
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
    const values = filter.correlate.map(({ from }) => `([try ${enclosed(from.jq)} catch null] | .[0])`).join(', ');
    const expected = filter.correlate.map(({ name }, index) => agrees(index, expectedOf(work, name)));
    const conditions = [`(try any(${enclosed(filter.matches.jq)}; .) catch false)`, ...expected].join(' and ');
    const result = `[${at}, $__correlated, ${until ? 'null' : read}]`;
    return `([${values}] as $__correlated | if ${conditions} then ${result} else ${rest} end)`;
  }, 'null');
}

function agrees(index: number, expected: JsonValue | undefined): string {
  const value = `$__correlated[${index}]`;
  return expected === undefined ? `(${value} != null)` : `(${value} == ${expected.text})`;
}

function expectedOf({ expected }: ListenWork, name: string): JsonValue | undefined {
  return expected.find((one) => one.name === name)?.value;
}

/** `raw` is the data as text; data of another form than JSON is text already. */
const readings = {
  data: 'if has("data") then .data else .data_base64 end',
  envelope: '.',
  raw: 'if has("data") then .data | if type == "string" then . else tojson end else .data_base64 end',
} as const;

/** Whether the filters that had their event are enough. */
export function isSatisfied(consumption: Consumption, taken: readonly number[]): boolean {
  return taken.length >= (consumption.kind === 'all' ? consumption.filters.length : 1);
}
