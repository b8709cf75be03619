import { hasRole, type Principal } from '#access/principal.ts';
import type { CustomRoleOptions, Entrance } from '#access/rights/access-options.ts';
import { isRelayOperation, type Operation, operationNames, runOperations, runRoles } from '#access/rights/operations.ts';
import { createRights, decideOperation } from '#access/rights/rights.ts';
import { fixedMethod } from './call.ts';
import { decidePermission } from './decide-call.ts';

interface AskedEntry {
  readonly principal: Principal;
  readonly operation: Operation;
  readonly entrance: Entrance;
  /** The operator's own roles. */
  readonly customRoles: readonly CustomRoleOptions[];
  /** The adapter instance, where it is known already. */
  readonly adapter?: string | undefined;
}

/** `reason`: for the caller. */
type EntryDecision = { readonly allowed: true } | { readonly allowed: false; readonly reason: string };

/**
 * Whether a role or a right lets the principal use an operation, as far as it is known before a body is read. What is not known yet is not
 * judged, so that a refusal holds for every request that could follow.
 */
export function decideEntry({ principal, operation, entrance, customRoles, adapter }: AskedEntry): EntryDecision {
  if (!isRelayOperation(operation)) return decideOperation({ principal, operation, entrance, customRoles });
  const call = { operation, adapter, method: fixedMethod(operation), path: undefined, entrance };
  return decidePermission({ principal, customRoles, call });
}

/** The operations that the principal may use, for some object at least. */
export function usableOperations(asked: Omit<AskedEntry, 'operation' | 'adapter'>): readonly Operation[] {
  const { principal, customRoles, entrance } = asked;
  const rights = createRights(() => customRoles, entrance);
  const runsByRole = hasRole(principal, runRoles) || principal.groups.length > 0;
  return operationNames.filter((operation) =>
    (runOperations as readonly Operation[]).includes(operation)
      ? runsByRole || rights.scope(principal, operation).length > 0
      : decideEntry({ ...asked, operation }).allowed,
  );
}
