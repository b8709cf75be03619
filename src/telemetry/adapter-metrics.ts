import { Gauge, type Registry } from 'prom-client';
import type { AdapterState } from '#adapters/adapter-standing.ts';
import type { KnownAdapter, KnownNode } from '#adapters/known-adapters.ts';
import type { BreakerState } from '#adapters/node-breaker.ts';

/**
 * Metrics of the adapter instances, read at each scrape. The label `node` is the position of an address in `urls`, from 1.
 * Metrics may be open to everyone, and must not show the addresses of orchestrators.
 */
export function measureAdapters(registry: Registry, adapters: () => readonly KnownAdapter[]): void {
  gauge(registry, 'gateway_adapter_state', 'The state of an adapter instance: 1 for the current one.', function* () {
    for (const adapter of adapters()) {
      const { state } = adapter.standing();
      for (const possible of adapterStates) yield [{ adapter: adapter.name, state: possible }, Number(possible === state)];
    }
  });
  ofNodes({ registry, adapters }, 'gateway_adapter_node_online', '1 for a node that is online.', (node) => [
    [{}, Number(node.standing().state === 'online')],
  ]);
  const credentialsHelp = '1 for a node that refuses the credentials of its adapter instance, or for which there are none.';
  ofNodes({ registry, adapters }, 'gateway_adapter_credentials_refused', credentialsHelp, (node) => [
    [{}, Number(node.standing().credentialsRefused)],
  ]);
  const breakerHelp = 'The state of the circuit breaker of a node: 1 for the current one.';
  ofNodes({ registry, adapters }, 'gateway_adapter_breaker', breakerHelp, ({ breaker }) =>
    breakerStates.map((state) => [{ state }, Number(breaker.state === state)]),
  );
  ofNodes({ registry, adapters }, 'gateway_adapter_in_flight', 'Calls that hold a slot of a node.', ({ slots }) => [
    [{}, slots.inFlight],
  ]);
  ofNodes({ registry, adapters }, 'gateway_adapter_waiting', 'Calls that wait for a slot of a node.', ({ slots }) => [
    [{}, slots.waiting],
  ]);
}

const adapterStates: readonly AdapterState[] = ['unknown', 'online', 'degraded', 'offline'];
const breakerStates: readonly BreakerState[] = ['closed', 'open', 'half-open'];

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [Labels, number];

function ofNodes(
  { registry, adapters }: { readonly registry: Registry; readonly adapters: () => readonly KnownAdapter[] },
  name: string,
  help: string,
  samplesOf: (node: KnownNode) => readonly Sample[],
): void {
  gauge(registry, name, help, function* () {
    for (const adapter of adapters()) {
      for (const [place, node] of adapter.nodes.entries()) {
        const which = { adapter: adapter.name, node: String(place + 1) };
        for (const [labels, value] of samplesOf(node)) yield [{ ...which, ...labels }, value];
      }
    }
  });
}

function gauge(registry: Registry, name: string, help: string, samples: () => Iterable<Sample>): void {
  const made = new Gauge({
    name,
    help,
    labelNames: ['adapter', 'node', 'state'],
    registers: [],
    collect() {
      // A reload may have removed adapter instances.
      this.reset();
      for (const [labels, value] of samples()) this.set(labels, value);
    },
  });
  registry.registerMetric(made);
}
