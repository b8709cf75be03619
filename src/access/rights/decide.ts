import { roles as knownRoles, type Principal, type Role } from '../principal.ts';

interface Decision {
  readonly allowed: boolean;
  /** For the caller. */
  readonly reason: string;
}

const allowedBy = new Map<Role | undefined, Decision>(
  knownRoles.map((role): [Role, Decision] => [role, { allowed: true, reason: `The role ${role} allows this.` }]),
);

/** One of `roles` is enough. An empty list allows no principal. */
export function decide({ principal, roles }: { readonly principal: Principal; readonly roles: readonly Role[] }): Decision {
  const allowed = allowedBy.get(roles.find((role) => principal.roles.includes(role)));
  if (allowed !== undefined) return allowed;
  const has = principal.roles.length === 0 ? 'you have no role' : `you have ${[...new Set(principal.roles)].join(', ')}`;
  const least = leastFirst.find((role) => roles.includes(role));
  if (least === undefined) return { allowed: false, reason: `No role allows this; ${has}.` };
  const needed = roles.length === 1 ? `the role ${least}` : `one of the roles ${roles.join(', ')}`;
  return { allowed: false, reason: `This needs ${needed}; ${has}. An operator can add ${least} to your roles.` };
}

/** A refusal proposes the role that allows least. */
const leastFirst: readonly Role[] = ['readonly', 'apiread', 'other', 'engineering', 'admin'];
