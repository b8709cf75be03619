import { roles as knownRoles, type Principal, type Role } from './principal.ts';

/** Whether a principal may do something, and why. */
interface Decision {
  readonly allowed: boolean;
  /** For the caller: the roles that it has and the roles that it needs. */
  readonly reason: string;
}

const allowedBy = new Map<Role | undefined, Decision>(
  knownRoles.map((role): [Role, Decision] => [role, { allowed: true, reason: `The role ${role} allows this.` }]),
);

/** A principal is allowed if it has at least one of `roles`. An empty list allows no principal. */
export function decide({ principal, roles }: { readonly principal: Principal; readonly roles: readonly Role[] }): Decision {
  const allowed = allowedBy.get(roles.find((role) => principal.roles.includes(role)));
  if (allowed !== undefined) return allowed;
  const has = principal.roles.length === 0 ? 'you have no role' : `you have ${[...new Set(principal.roles)].join(', ')}`;
  const least = leastFirst.find((role) => roles.includes(role));
  if (least === undefined) return { allowed: false, reason: `No role allows this; ${has}.` };
  const needed = roles.length === 1 ? `the role ${least}` : `one of the roles ${roles.join(', ')}`;
  return { allowed: false, reason: `This needs ${needed}; ${has}. An operator can add ${least} to your roles.` };
}

/** The order in which a refusal proposes a role: the one that allows least comes first. */
const leastFirst: readonly Role[] = ['readonly', 'apiread', 'other', 'engineering', 'admin'];
