import type { CustomRoleOptions, RightOptions } from '#access/access-options.ts';
import type { CustomRole, Principal } from '#access/principal.ts';
import { matchesPaths } from '#adapters/path-rights.ts';
import type { OutboundCall } from '#outbound/outbound-call.ts';
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
}

export function traitsOf(call: Call): CallTraits {
  const { operation } = call;
  if (operation !== 'restCall') return { operation, adapter: call.adapter, method: methodOf(call), path: call.params.path };
  const { verb, destination } = call.request;
  return { operation, adapter: undefined, method: verb, path: destination.pathname };
}

/** The first part of `right` that does not match the call; undefined where all do. */
type Mismatch = 'route' | 'adapter instance' | 'method' | 'path';

/** Whether a right of the principal's own roles allows a call. */
type RightDecision =
  | { readonly allowed: true; readonly role: CustomRole /** The index in `allows`. */; readonly right: number }
  /** `reason`: a sentence about the right that comes closest; undefined where the principal has no role with rights. */
  | { readonly allowed: false; readonly reason: string | undefined };

/** The first right, in the order of the configuration, that matches. A role that the configuration no longer has allows nothing. */
export function decideRights(roles: readonly CustomRoleOptions[], principal: Principal, call: CallTraits): RightDecision {
  let closest: { readonly name: string; readonly mismatch: Mismatch } | undefined;
  for (const { name, allows } of roles) {
    if (!principal.roles.includes(name)) continue;
    for (const [right, options] of allows.entries()) {
      const mismatch = mismatchOf(options, call);
      if (mismatch === undefined) return { allowed: true, role: name, right };
      if (closest === undefined || order.indexOf(mismatch) > order.indexOf(closest.mismatch))
        closest = { name: rightName(name, right), mismatch };
    }
  }
  if (closest === undefined) return { allowed: false, reason: undefined };
  return { allowed: false, reason: `No right of your own roles allows it: ${closest.name} has another ${closest.mismatch}.` };
}

/** How the audit log and messages name a right. */
export function rightName(role: CustomRole, right: number): string {
  return `role ${role}, allows[${right}]`;
}

const order: readonly Mismatch[] = ['route', 'adapter instance', 'method', 'path'];

function mismatchOf({ routes, adapters, methods, paths }: RightOptions, call: CallTraits): Mismatch | undefined {
  const { operation, adapter, method, path } = call;
  if (!matchesOne(routes, operation)) return 'route';
  if (operation === 'restCall' ? adapters.length > 0 : !matchesOne(adapters, adapter)) return 'adapter instance';
  if (!matchesOne(methods, method)) return 'method';
  return paths.length === 0 || path === undefined || matchesPaths(paths, path) ? undefined : 'path';
}

/** Whether the list has the name. An empty list has any, and a name that is not known yet is in any list. */
export function matchesOne(names: readonly string[], name: string | undefined): boolean {
  return names.length === 0 || name === undefined || names.includes(name);
}
