import type { Histogram, Registry } from 'prom-client';

/** A histogram with one label for each call, cheaper than prom-client's own, which checks and hashes its labels each time. */
interface TalliedHistogram {
  /** `seconds`: the observed value. */
  observe(label: string, seconds: number): void;
}

interface Series {
  /** Observations in each bucket that are in no smaller one; the last is for those over all buckets. */
  readonly counts: Float64Array;
  sum: number;
}

/** `buckets`: seconds, ascending. There is one series for each label value. */
export function createTalliedHistogram(options: {
  readonly name: string;
  readonly help: string;
  readonly labelName: string;
  readonly buckets: readonly number[];
  readonly registry: Registry;
}): TalliedHistogram {
  const { name, help, labelName, buckets, registry } = options;
  const series = new Map<string, Series>();
  const metric = {
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    get: () => Promise.resolve({ name, help, type: 'histogram', aggregator: 'sum', values: [...series].flatMap(valuesOf) }),
  };
  const valuesOf = ([label, { counts, sum }]: readonly [string, Series]): readonly object[] => {
    const labels = { [labelName]: label };
    let count = 0;
    const upTo = [...buckets, '+Inf'].map((le, index) => {
      count += counts[index] ?? 0;
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
    });
    return [...upTo, { metricName: `${name}_sum`, labels, value: sum }, { metricName: `${name}_count`, labels, value: count }];
  };
  // The registry only calls `get`, but its type allows only prom-client's own classes.
  registry.registerMetric(metric as unknown as Histogram);
  return {
    observe(label, seconds) {
      let one = series.get(label);
      if (one === undefined) series.set(label, (one = { counts: new Float64Array(buckets.length + 1), sum: 0 }));
      let index = 0;
      while (index < buckets.length && seconds > (buckets[index] ?? 0)) index += 1;
      one.counts[index] = (one.counts[index] ?? 0) + 1;
      one.sum += seconds;
    },
  };
}
