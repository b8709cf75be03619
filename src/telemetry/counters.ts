import { Counter, Histogram, type Registry } from 'prom-client';

/** For each label the values of its closed set; none where they are known later. */
type LabelValues<Label extends string> = Readonly<Record<Label, readonly string[]>>;

/** Counters start at 0, because Prometheus sees no increase when a counter first appears. */
export function counter<Label extends string = never>(
  registry: Registry,
  name: string,
  help: string,
  labels = {} as LabelValues<Label>,
): Counter<Label> {
  const made = new Counter({ name, help, labelNames: Object.keys(labels) as Label[], registers: [registry] });
  for (const values of combinations(labels)) made.inc(values, 0);
  return made;
}

/** Seconds. */
export function histogram<Label extends string = never>(
  registry: Registry,
  name: string,
  help: string,
  { buckets, labels = {} as LabelValues<Label> }: { readonly buckets: readonly number[]; readonly labels?: LabelValues<Label> },
): Histogram<Label> {
  const labelNames = Object.keys(labels) as Label[];
  const made = new Histogram({ name, help, labelNames, buckets: [...buckets], registers: [registry] });
  for (const values of combinations(labels)) made.zero(values);
  return made;
}

function combinations<Label extends string>(labels: LabelValues<Label>): readonly Record<Label, string>[] {
  const sets = Object.entries<readonly string[]>(labels);
  return sets.reduce<readonly object[]>(
    (found, [label, values]) => found.flatMap((each) => values.map((value) => ({ ...each, [label]: value }))),
    [{}],
  ) as readonly Record<Label, string>[];
}
