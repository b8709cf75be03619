import { hasRole, type Principal, type Role } from '#access/principal.ts';
import { type Automation, readersOf } from './automation.ts';
import type { Viewer } from './automation-visibility-store.ts';

/** The roles that may list and read, and the roles that may write (docs/reference/specification-coverage.md). */
export const listingRoles = ['admin', 'other', 'readonly', 'apiread'] as const satisfies readonly Role[];
export const writingRoles = ['admin', 'engineering'] as const satisfies readonly Role[];

/** What decides which automations a principal is shown. */
export function viewerOf({ roles, groups }: Principal): Viewer {
  return { seesAll: roles.includes('admin'), groups };
}

/**
 * Whether the principal may see the automation. Group lists restrict every principal except admins. A principal that may write but not
 * list sees the automations that it may write.
 */
export function maySee(principal: Principal, automation: Automation): boolean {
  if (principal.roles.includes('admin')) return true;
  if (!isAmong(principal, readersOf(automation))) return false;
  return hasRole(principal, listingRoles) || mayWrite(principal, automation);
}

/** Whether the principal may change an automation that it may see. */
export function mayWrite(principal: Principal, automation: Automation): boolean {
  if (principal.roles.includes('admin')) return true;
  const writers = automation.data?.gbac?.write ?? [];
  return hasRole(principal, writingRoles) && (writers.length === 0 || isAmong(principal, new Set(writers)));
}

/**
 * Whether the principal may run an automation. Who may see and change it may, and each member of a group that may write it, in any role.
 */
export function mayRun(principal: Principal, automation: Automation): boolean {
  const writers = automation.data?.gbac?.write ?? [];
  if (writers.length > 0 && isAmong(principal, new Set(writers))) return true;
  return mayWrite(principal, automation) && maySee(principal, automation);
}

/** `undefined`: every principal is among them. */
function isAmong({ groups }: Principal, wanted: ReadonlySet<string> | undefined): boolean {
  return wanted === undefined || groups.some((group) => wanted.has(group));
}
