import type { Registry } from 'prom-client';
import type { KnownAdapter, KnownNode } from '#adapters/known-adapters.ts';
import type { BreakerState } from '#adapters/nodes/node-breaker.ts';
import type { AdapterState } from '#adapters/nodes/node-standing.ts';
import { gauge } from './gauges.ts';

const adapterStates: readonly AdapterState[] = ['unknown', 'online', 'degraded', 'offline'];
const breakerStates: readonly BreakerState[] = ['closed', 'open', 'half-open'];

/**
 * Metrics of the adapter instances, read at each scrape. The label `node` is the position of an address in `urls`, from 1.
 * Metrics may be open to everyone, and must not show the addresses of orchestrators.
 */
export function measureAdapters(registry: Registry, adapters: () => readonly KnownAdapter[]): void {
  const stateHelp =
    '1 for the current state of an adapter instance: `unknown` (never called nor probed), `online`, `degraded` or `offline`.';
  gauge(registry, { name: 'gateway_adapter_state', help: stateHelp, labels: ['adapter', 'state'] }, () =>
    adapters().flatMap((adapter) => oneOf({ adapter: adapter.name }, adapterStates, adapter.standing().state)),
  );
  const ofNodes = (
    name: string,
    help: string,
    samplesOf: (node: KnownNode, labels: Labels) => readonly Sample[],
    labels = ['adapter', 'node'],
  ): void =>
    gauge(registry, { name, help, labels }, () =>
      adapters().flatMap((adapter) =>
        adapter.nodes.flatMap((node, place) => samplesOf(node, { adapter: adapter.name, node: String(place + 1) })),
      ),
    );
  ofNodes(
    'gateway_adapter_node_online',
    '1 for a node that is online; `node` is the position of its address in `urls`, from 1.',
    (node, labels) => [[labels, Number(node.standing().state === 'online')]],
  );
  ofNodes(
    'gateway_adapter_credentials_refused',
    '1 for a node that refuses the credentials of its adapter instance, or while its token endpoint gives no token.',
    (node, labels) => [[labels, Number(node.standing().credentialsRefused)]],
  );
  ofNodes(
    'gateway_adapter_breaker',
    "1 for the current state of a node's circuit breaker: `closed`, `open` or `half-open`.",
    ({ breaker }, labels) => oneOf(labels, breakerStates, breaker.state),
    ['adapter', 'node', 'state'],
  );
  ofNodes('gateway_adapter_in_flight', 'Calls with a slot of a node.', ({ slots }, labels) => [[labels, slots.inFlight]]);
  ofNodes('gateway_adapter_waiting', 'Calls that wait for a slot.', ({ slots }, labels) => [[labels, slots.waiting]]);
}

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [Labels, number];

/** A sample for each possible state: 1 for the current one. */
function oneOf<S extends string>(labels: Labels, states: readonly S[], current: S): readonly Sample[] {
  return states.map((state) => [{ ...labels, state }, Number(state === current)]);
}
