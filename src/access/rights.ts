import type { CustomRoleOptions, Entrance, RightOptions } from './access-options.ts';
import { decide } from './decide.ts';
import { isRelayOperation, isWorkflowOperation, type Operation, operations } from './operations.ts';
import { type CustomRole, hasRole, type Principal } from './principal.ts';
import { matchesWorkflow } from './workflow-globs.ts';

/** The first part of a right that does not match, in the order in which parts are compared. */
const parts = ['route', 'entrance', 'workflow', 'adapter instance', 'method', 'destination', 'path'] as const;

export type Mismatch = (typeof parts)[number];

/** Whether a right of the principal's own roles allows something. */
export type RightDecision =
  | { readonly allowed: true; readonly role: CustomRole /** The index in `allows`. */; readonly right: number }
  /** `reason`: a sentence about the right that comes closest; undefined where the principal has no role with rights. */
  | { readonly allowed: false; readonly reason: string | undefined };

/**
 * The first right, in the order of the configuration, for which `mismatchOf` answers undefined. A role that the configuration no longer has
 * allows nothing.
 */
export function findRight(
  roles: readonly CustomRoleOptions[],
  principal: Pick<Principal, 'roles'>,
  mismatchOf: (right: RightOptions) => Mismatch | undefined,
): RightDecision {
  let closest: { readonly name: string; readonly mismatch: Mismatch } | undefined;
  for (const { name, allows } of roles) {
    if (!principal.roles.includes(name)) continue;
    for (const [right, options] of allows.entries()) {
      const mismatch = mismatchOf(options);
      if (mismatch === undefined) return { allowed: true, role: name, right };
      if (closest === undefined || parts.indexOf(mismatch) > parts.indexOf(closest.mismatch))
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

/** Whether the right is about the operation. */
export function namesOperation({ routes }: Pick<RightOptions, 'routes'>, operation: Operation): boolean {
  return routes.length === 0 ? isRelayOperation(operation) : routes.includes(operation);
}

/** Whether the right counts at the entrance. Undefined: not known, and then not judged. */
export function countsAt({ via }: Pick<RightOptions, 'via'>, entrance: Entrance | undefined): boolean {
  return via.length === 0 || entrance === undefined || via.includes(entrance);
}

/** Who asks for which operation, before its object is known. */
export interface AskedOperation {
  readonly principal: Principal;
  readonly operation: Operation;
  /** The operator's own roles (`access.roles`). */
  readonly customRoles: readonly CustomRoleOptions[];
  readonly entrance: Entrance;
}

/** `reason`: for the caller. */
type OperationDecision =
  | {
      readonly allowed: true;
      /** Everyone, every caller, a role of the specification, or a right. */
      readonly by: 'everyone' | 'callers' | 'role' | 'right';
      /** For the audit log. */
      readonly rule: string;
      readonly reason: string;
    }
  | { readonly allowed: false; readonly reason: string };

/**
 * Whether a role or a right lets the principal use an operation that relays no call. A right that is limited to workflows allows it here; its object
 * is judged by `Rights.covers`.
 */
export function decideOperation({ principal, operation, customRoles, entrance }: AskedOperation): OperationDecision {
  const access = operations[operation];
  if (typeof access === 'string') return { allowed: true, by: access, rule: access, reason: openTo[access] };
  const { allowed, reason } = decide({ principal, roles: access });
  if (allowed) {
    const role: string | undefined = access.find((one) => principal.roles.includes(one));
    return { allowed, by: 'role', rule: `role ${role}`, reason };
  }
  const decision = findRight(customRoles, principal, (right) => mismatchOfOperation(right, operation, entrance));
  if (!decision.allowed) return { allowed, reason: decision.reason === undefined ? reason : `${reason} ${decision.reason}` };
  const { role, right } = decision;
  const rule = rightName(role, right);
  return { allowed: true, by: 'right', rule, reason: `The role ${role} allows this by its right allows[${right}].` };
}

const openTo = {
  everyone: 'Every caller may call it, without credentials.',
  callers: 'Every authenticated caller may call it.',
} as const;

function mismatchOfOperation(right: RightOptions, operation: Operation, entrance: Entrance): Mismatch | undefined {
  if (!namesOperation(right, operation)) return 'route';
  return countsAt(right, entrance) ? undefined : 'entrance';
}

/** The ids of workflows that rights cover: all, or those that one of the globs matches. */
export type RightScope = 'all' | readonly string[];

/**
 * The rights in force, for the parts that judge the objects of an operation. A right replaces the role there, and nothing else: groups (gbac),
 * delegation and approvers are asked in any case.
 */
export interface Rights {
  /** Whether a role or a right lets the principal use the operation, for some object. */
  allows(principal: Principal, operation: Operation): boolean;
  /** Whether a role lets the principal use the operation, or a right that covers the workflow does. */
  permits(principal: Principal, operation: Operation, workflow: string | undefined): boolean;
  /** Whether a right covers the workflow with this id, or an automation or a run of it. Undefined: it has none. */
  covers(principal: Principal, operation: Operation, workflow: string | undefined): boolean;
  /** Whether neither a role nor a right covers every workflow. */
  isLimited(principal: Principal, operation: Operation): boolean;
  /** What the rights to an operation cover together; empty where there are none. */
  scope(principal: Principal, operation: Operation): RightScope;
}

/** `customRoles` is read for each question, since a reload replaces them. */
export function createRights(customRoles: () => readonly CustomRoleOptions[], entrance: Entrance = 'http'): Rights {
  const scope: Rights['scope'] = ({ roles }, operation) => {
    const globs: string[] = [];
    for (const { name, allows } of customRoles()) {
      if (!roles.includes(name)) continue;
      for (const right of allows) {
        if (mismatchOfOperation(right, operation, entrance) !== undefined) continue;
        if (right.workflows.length === 0 || !isWorkflowOperation(operation)) return 'all';
        globs.push(...right.workflows);
      }
    }
    return globs;
  };
  return {
    allows: (principal, operation) => decideOperation({ principal, operation, customRoles: customRoles(), entrance }).allowed,
    permits: (principal, operation, workflow) =>
      hasRoleFor(principal, operation) || isInScope(scope(principal, operation), workflow),
    isLimited: (principal, operation) => !hasRoleFor(principal, operation) && scope(principal, operation) !== 'all',
    covers: (principal, operation, workflow) => isInScope(scope(principal, operation), workflow),
    scope,
  };
}

/** Where every caller may ask, no role decides. */
function hasRoleFor(principal: Principal, operation: Operation): boolean {
  const access = operations[operation];
  return typeof access !== 'string' && hasRole(principal, access);
}

/** Whether rights of this scope cover the workflow; undefined: it is something without a workflow. */
function isInScope(scope: RightScope, workflow: string | undefined): boolean {
  return scope === 'all' || (workflow !== undefined && matchesWorkflow(scope, workflow));
}
