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
  const has = principal.roles.length === 0 ? 'you have no role' : `you have ${principal.roles.join(', ')}`;
  const needed = roles.length === 0 ? 'No role allows this' : `This needs one of the roles ${roles.join(', ')}`;
  return { allowed: false, reason: `${needed}; ${has}.` };
}
