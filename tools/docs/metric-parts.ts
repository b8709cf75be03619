import { mock } from 'node:test';
import { Registry } from 'prom-client';
import { type MadePart, table } from './made-parts.ts';

interface RegisteredMetric {
  readonly name: string;
  readonly type: string;
  readonly labelNames: readonly string[];
  readonly help: string;
}

/** Watches for registries that get a metric. The function that it returns makes the tables of their metrics. */
export function watchMetrics(): () => readonly MadePart[] {
  const watched = mock.method(Registry.prototype, 'registerMetric');
  return () => {
    const registries = new Set(watched.mock.calls.map(({ this: registry }) => registry as Registry));
    watched.mock.restore();
    const metrics = [...registries]
      .flatMap((registry) => registry.getMetricsAsArray() as readonly unknown[] as RegisteredMetric[])
      .toSorted((one, other) => (one.name < other.name ? -1 : 1));
    const tableOf = (own: boolean): string => {
      const rows = metrics.filter(({ name }) => name.startsWith('gateway_') === own);
      const cells = rows.map(({ name, type, labelNames, help }) => [`\`${name}\``, type, labelNames.join(', '), help]);
      return table(['name', 'type', 'labels', 'meaning'], cells);
    };
    return [
      ['metrics of the gateway', tableOf(true)],
      ['metrics of the process', tableOf(false)],
    ];
  };
}
