import { GatewayError } from '#base/gateway-error.ts';
import type { AdapterInstance } from './adapter-instance.ts';
import type { AdapterState } from './nodes/node-standing.ts';

export interface AdapterInstances {
  /** Throws `adapter-not-found` with the existing names. One that `shows` leaves out counts as missing. */
  find(name: string, shows?: (name: string) => boolean): AdapterInstance;
  isReadAction(name: string, path: string): boolean;
  states(): readonly AdapterState[];
  all(): readonly AdapterInstance[];
  close(): Promise<void>;
}

export function createAdapterInstances(instances: readonly AdapterInstance[]): AdapterInstances {
  const byName = new Map(instances.map((instance) => [instance.name, instance]));
  return {
    find(name, shows = () => true) {
      const instance = byName.get(name);
      if (instance === undefined || !shows(name)) throw notFound(name, [...byName.keys()].filter(shows));
      return instance;
    },
    isReadAction: (name, path) => byName.get(name)?.isReadAction(path) ?? false,
    states: () => instances.map((instance) => instance.standing().state),
    all: () => instances,
    async close() {
      await Promise.all(instances.map((instance) => instance.close()));
    },
  };
}

function notFound(name: string, names: readonly string[]): GatewayError {
  const shown = JSON.stringify(name.slice(0, 128));
  const existing =
    names.length === 0
      ? 'None is configured'
      : `There are: ${names.map((existingName) => JSON.stringify(existingName)).join(', ')}`;
  return new GatewayError('adapter-not-found', `There is no adapter instance ${shown}. ${existing}.`);
}
