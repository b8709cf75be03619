import type { Principal, Role } from '#access/principal.ts';
import { type Automation, readersOf } from './automation.ts';
import type { Viewer } from './automation-audience-store.ts';

/** The roles that may list and read (interface-specification, Authentication), and those that may write. */
export const listingRoles = ['admin', 'other', 'readonly', 'apiread'] as const satisfies readonly Role[];
export const writingRoles = ['admin', 'engineering'] as const satisfies readonly Role[];

/** For whom a listing is made. */
export function viewerOf({ roles, groups }: Principal): Viewer {
  return { seesAll: roles.includes('admin'), groups };
}

/**
 * Whether the principal may see the automation. Groups bind everybody but admins; who may not list, but write, sees what it may
 * write.
 */
export function maySee(principal: Principal, automation: Automation): boolean {
  if (principal.roles.includes('admin')) return true;
  if (!isAmong(principal, readersOf(automation))) return false;
  return holds(principal, listingRoles) || mayWrite(principal, automation);
}

/** Whether the principal may change an automation that its groups let it see. */
export function mayWrite(principal: Principal, automation: Automation): boolean {
  if (principal.roles.includes('admin')) return true;
  const writers = automation.data?.gbac?.write ?? [];
  return holds(principal, writingRoles) && (writers.length === 0 || isAmong(principal, new Set(writers)));
}

function holds({ roles }: Principal, wanted: readonly Role[]): boolean {
  return roles.some((role) => wanted.includes(role));
}

/** `undefined` stands for everyone. */
function isAmong({ groups }: Principal, wanted: ReadonlySet<string> | undefined): boolean {
  return wanted === undefined || groups.some((group) => wanted.has(group));
}
