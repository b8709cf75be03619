import { type CustomRole, hasRole, type Principal } from '../principal.ts';
import type { CustomRoleOptions, Entrance, RightOptions } from './access-options.ts';
import { decide } from './decide.ts';
import { isRelayOperation, isWorkflowOperation, type Operation, operations } from './operations.ts';

/** In the order in which they are compared. */
const parts = ['route', 'entrance', 'workflow', 'adapter instance', 'method', 'destination', 'path'] as const;

export type Mismatch = (typeof parts)[number];

export type RightDecision =
  | { readonly allowed: true; readonly role: CustomRole /** The index in `allows`. */; readonly right: number }
  /** `reason`: about the right that comes closest; undefined: no role has rights. */
  | { readonly allowed: false; readonly reason: string | undefined };

/**
 * The first right of the configuration for which `mismatchOf` answers undefined. A role that the configuration no longer has
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

/** For the audit log and messages. */
export function rightName(role: CustomRole, right: number): string {
  return `role ${role}, allows[${right}]`;
}

export function namesOperation({ routes }: Pick<RightOptions, 'routes'>, operation: Operation): boolean {
  return routes.length === 0 ? isRelayOperation(operation) : routes.includes(operation);
}

/** Undefined: not known, and not judged. */
export function countsAt({ via }: Pick<RightOptions, 'via'>, entrance: Entrance | undefined): boolean {
  return via.length === 0 || entrance === undefined || via.includes(entrance);
}

/** Before the object is known. */
export interface AskedOperation {
  readonly principal: Principal;
  readonly operation: Operation;
  readonly customRoles: readonly CustomRoleOptions[];
  readonly entrance: Entrance;
}

/** `reason`: for the caller. */
type OperationDecision =
  | {
      readonly allowed: true;
      readonly by: 'everyone' | 'callers' | 'role' | 'right';
      /** For the audit log. */
      readonly rule: string;
      readonly reason: string;
    }
  | { readonly allowed: false; readonly reason: string };

/** For operations that relay no call. A right limited to workflows allows here; `Rights.covers` judges the object. */
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

/** Ids of workflows: all, or those that one of the globs matches. */
type RightScope = 'all' | readonly string[];

export type Rights = ReturnType<typeof createRights>;

/**
 * In force, for objects of an operation. A right replaces the role, and nothing else: groups (gbac), delegation and approvers are asked in
 * any case. A reload replaces `customRoles`.
 */
export function createRights(customRoles: () => readonly CustomRoleOptions[], entrance: Entrance = 'http') {
  const scope = ({ roles }: Principal, operation: Operation): RightScope => {
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
    /** For some object. */
    allows: (principal: Principal, operation: Operation): boolean =>
      decideOperation({ principal, operation, customRoles: customRoles(), entrance }).allowed,
    /** By a role, or by a right that covers the workflow. */
    permits: (principal: Principal, operation: Operation, workflow: string | undefined): boolean =>
      hasRoleFor(principal, operation) || isInScope(scope(principal, operation), workflow),
    /** Neither a role nor a right covers every workflow. */
    isLimited: (principal: Principal, operation: Operation): boolean =>
      !hasRoleFor(principal, operation) && scope(principal, operation) !== 'all',
    /** A right covers the workflow, or an automation or run of it. Undefined: it has no workflow. */
    covers: (principal: Principal, operation: Operation, workflow: string | undefined): boolean =>
      isInScope(scope(principal, operation), workflow),
    /** What all rights cover together; empty: no right. */
    scope,
  };
}

/** Where every caller may ask, no role decides. */
function hasRoleFor(principal: Principal, operation: Operation): boolean {
  const access = operations[operation];
  return typeof access !== 'string' && hasRole(principal, access);
}

function isInScope(scope: RightScope, workflow: string | undefined): boolean {
  return scope === 'all' || (workflow !== undefined && matchesWorkflow(scope, workflow));
}

const patterns = new Map<string, RegExp>();

/** The configuration has them, which a reload replaces. */
const maxPatterns = 10_000;

/** `*` is any text; every other character is itself, in its case. */
export function matchesWorkflow(globs: readonly string[], id: string): boolean {
  return globs.some((glob) => patternOf(glob).test(id));
}

function patternOf(glob: string): RegExp {
  const known = patterns.get(glob);
  if (known !== undefined) return known;
  const pattern = new RegExp(
    `^${glob
      .split('*')
      .map((text) => RegExp.escape(text))
      .join('.*')}$`,
    'su',
  );
  if (patterns.size >= maxPatterns) patterns.clear();
  patterns.set(glob, pattern);
  return pattern;
}
