import type { Principal } from '#access/principal.ts';
import type { Entrance } from '#access/rights/access-options.ts';
import type { ApprovalCondition, ApprovalRule } from '#access/rights/approval-options.ts';
import { mayMatchPaths } from '#adapters/paths/path-rights.ts';
import { type CallTraits, matchesOne } from './custom-rights.ts';

interface RuledCall {
  readonly principal: Principal;
  /** See CallContext. */
  readonly answerable?: readonly Principal[] | undefined;
  readonly via?: readonly Entrance[] | undefined;
  readonly call: CallTraits;
  /** When the call is made: milliseconds since the epoch. */
  readonly at: number;
}

/** The rules that match a call, in the order of the configuration. What is not known of the call matches. */
export function neededApprovals(rules: readonly ApprovalRule[], call: RuledCall): readonly ApprovalRule[] {
  return rules.length === 0 ? rules : rules.filter(({ when }) => matches(when, call) && matchesCircumstances(when, call));
}

function matches({ routes, adapters, methods, paths }: ApprovalCondition, { call }: RuledCall): boolean {
  const { operation, adapter, method, path } = call;
  return (
    matchesOne(routes, operation) &&
    (operation === 'restCall' ? adapters.length === 0 : matchesOne(adapters, adapter)) &&
    matchesOne(methods, method) &&
    (paths.length === 0 || path === undefined || mayMatchPaths(paths, path))
  );
}

/** Who makes the call, by which entrance, and when. */
function matchesCircumstances(
  { roles, via: entrances, from = -Infinity, until = Infinity }: ApprovalCondition,
  { principal, answerable, via, at }: RuledCall,
): boolean {
  return (
    // What a run calls is decided by others than the person who started it: a rule for some roles holds for all runs.
    (roles.length === 0 || answerable !== undefined || roles.some((role) => principal.roles.includes(role))) &&
    (entrances.length === 0 || via === undefined || via.some((entrance) => entrances.includes(entrance))) &&
    at >= from &&
    at < until
  );
}
