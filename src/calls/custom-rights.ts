import type { Principal } from '#access/principal.ts';
import type { CustomRoleOptions, Entrance, RightOptions } from '#access/rights/access-options.ts';
import { countsAt, findRight, type Mismatch, namesOperation, type RightDecision } from '#access/rights/rights.ts';
import { matchesPaths } from '#adapters/paths/path-rights.ts';
import type { OutboundCall } from '#outbound/call/outbound-call.ts';
import type { CallOperation } from '#relay/relayed-call.ts';
import { type Call, methodOf } from './call.ts';

/** What rules see of a call. A member that is not known yet is undefined, and then no rule about it is asked. */
export interface CallTraits {
  readonly operation: CallOperation;
  /** The name of the adapter instance. A restCall has none. */
  readonly adapter: string | undefined;
  readonly method: OutboundCall['method'] | undefined;
  /** The orchestrator's path, or the path of a restCall's URI. */
  readonly path: string | undefined;
  /** The origin of a restCall's URI. */
  readonly destination?: string | undefined;
  readonly entrance?: Entrance | undefined;
}

export function traitsOf(call: Call, entrance: Entrance): CallTraits {
  const { operation } = call;
  if (operation !== 'restCall')
    return { operation, adapter: call.adapter, method: methodOf(call), path: call.params.path, entrance };
  const { verb, destination } = call.request;
  const { pathname: path, origin } = destination;
  return { operation, adapter: undefined, method: verb, path, destination: origin, entrance };
}

/** Whether a right of the principal's own roles allows a call. */
export function decideRights(roles: readonly CustomRoleOptions[], principal: Principal, call: CallTraits): RightDecision {
  return findRight(roles, principal, (right) => mismatchOf(right, call));
}

function mismatchOf(right: RightOptions, call: CallTraits): Mismatch | undefined {
  const { operation, method, path, entrance } = call;
  if (!namesOperation(right, operation)) return 'route';
  if (!countsAt(right, entrance)) return 'entrance';
  const elsewhere = mismatchOfTarget(right, call);
  if (elsewhere === 'adapter instance') return elsewhere;
  if (!matchesOne(right.methods, method)) return 'method';
  if (elsewhere !== undefined) return elsewhere;
  return right.paths.length === 0 || path === undefined || matchesPaths(right.paths, path) ? undefined : 'path';
}

/** A restCall has no adapter instance, and a call to one has no destination of its own: a right that names some never allows it. */
function mismatchOfTarget({ adapters, destinations }: RightOptions, call: CallTraits): Mismatch | undefined {
  if (call.operation !== 'restCall') {
    if (!matchesOne(adapters, call.adapter)) return 'adapter instance';
    return destinations.length === 0 ? undefined : 'destination';
  }
  if (adapters.length > 0) return 'adapter instance';
  return destinations.length === 0 || call.destination === undefined || isAmong(destinations, call.destination)
    ? undefined
    : 'destination';
}

/** Each destination is a host in any case, with any port, or an origin. */
function isAmong(destinations: readonly string[], origin: string): boolean {
  const { hostname } = new URL(origin);
  return destinations.some((destination) => destination === origin || destination === hostname);
}

/** Whether the list has the name. An empty list has any, and a name that is not known yet is in any list. */
export function matchesOne(names: readonly string[], name: string | undefined): boolean {
  return names.length === 0 || name === undefined || names.includes(name);
}
