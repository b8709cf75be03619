import { roles as knownRoles, type Principal, type Role } from './principal.ts';

/** Whether a principal may, and why. */
interface Decision {
  readonly allowed: boolean;
  /** For the caller: what it has, what it needs. */
  readonly reason: string;
}

const allowedBy = new Map<Role | undefined, Decision>(
  knownRoles.map((role): [Role, Decision] => [role, { allowed: true, reason: `The role ${role} allows this.` }]),
);

/** A principal may where it holds at least one of `roles`; with an empty list nobody may. */
export function decide({ principal, roles }: { readonly principal: Principal; readonly roles: readonly Role[] }): Decision {
  const allowed = allowedBy.get(roles.find((role) => principal.roles.includes(role)));
  if (allowed !== undefined) return allowed;
  const has = principal.roles.length === 0 ? 'you have no role' : `you have ${principal.roles.join(', ')}`;
  const needed = roles.length === 0 ? 'No role allows this' : `This needs one of the roles ${roles.join(', ')}`;
  return { allowed: false, reason: `${needed}; ${has}.` };
}
