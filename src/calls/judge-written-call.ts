import { hasRole, type Principal } from '#access/principal.ts';
import { type CustomRoleOptions, rightMethods } from '#access/rights/access-options.ts';
import { readDestination } from '#outbound/policy/destination.ts';
import type { CallOperation } from '#relay/relayed-call.ts';
import { fixedMethod } from './call.ts';
import type { CallTraits } from './custom-rights.ts';
import { callRoles, decidePermission } from './decide-call.ts';

/** A call as a workflow document has it. What is an expression there is undefined. */
interface WrittenCall {
  readonly operation: CallOperation;
  readonly adapter?: string | undefined;
  readonly method?: string | undefined;
  /** The path at an orchestrator, or the address of a restCall. */
  readonly path?: string | undefined;
}

/**
 * Why no role and no right lets a principal have a run make the call; undefined where one does. Where a right allows it, the
 * document has to say adapter instance and method. A path that is an expression is judged at each call.
 */
export function whyNotWrittenCall(
  { principal, call }: { readonly principal: Principal; readonly call: WrittenCall },
  customRoles: readonly CustomRoleOptions[],
): string | undefined {
  const { operation } = call;
  if (hasRole(principal, callRoles[operation])) return undefined;
  const method = fixedMethod(operation) ?? rightMethods.find((known) => known === call.method);
  const decision = decidePermission({ principal, customRoles, call: traitsOfWritten(call, method) });
  if (!decision.allowed) return decision.reason;
  const open = [
    ...(operation !== 'restCall' && call.adapter === undefined ? ['the adapter instance'] : []),
    ...(method === undefined ? ['the method'] : []),
  ];
  if (open.length === 0) return undefined;
  return `A right allows it only where the document has ${open.join(' and ')} as a text without an expression.`;
}

const toAdapters = ['restAction', 'restQuery', 'restRequest'] as const satisfies readonly CallOperation[];

/** Of these adapter instances those that the calls of a principal's workflows may name; undefined where it may make no such call at all. */
export function usableInRuns({
  principal,
  customRoles,
  names,
}: {
  readonly principal: Principal;
  readonly customRoles: readonly CustomRoleOptions[];
  readonly names: readonly string[];
}): readonly string[] | undefined {
  const isUsable = (adapter: string | undefined): boolean =>
    toAdapters.some((operation) => {
      const call: CallTraits = { operation, adapter, method: fixedMethod(operation), path: undefined, entrance: 'run' };
      return decidePermission({ principal, customRoles, call }).allowed;
    });
  return isUsable(undefined) ? names.filter(isUsable) : undefined;
}

function traitsOfWritten({ operation, adapter, path }: WrittenCall, method: CallTraits['method']): CallTraits {
  if (operation !== 'restCall') return { operation, adapter, method, path, entrance: 'run' };
  const read = path === undefined ? undefined : readDestination(path);
  const url = read !== undefined && 'url' in read ? read.url : undefined;
  return { operation, adapter: undefined, method, path: url?.pathname, destination: url?.origin, entrance: 'run' };
}
