import { type Operation, operations, runRoles } from '#access/operations.ts';
import { hasRole, type Principal, type Role } from '#access/principal.ts';
import type { Rights } from '#access/rights.ts';
import { type Automation, readersOf } from './automation.ts';
import type { Viewer } from './automation-visibility-store.ts';

/** The roles that may list and read, and the roles that may write (docs/reference/specification-coverage.md). */
export const listingRoles = operations.listAutomations satisfies readonly Role[];
const writingRoles = operations.createAutomation satisfies readonly Role[];

/** What reads an automation as a whole. */
type ReadingOperation = Extract<Operation, 'exportAutomations' | 'listAutomations' | 'readAutomation'>;
type ChangingOperation = Extract<
  Operation,
  'createAutomation' | 'deleteAutomation' | 'importAutomations' | 'patchAutomation' | 'replaceAutomation' | 'takeAutomation'
>;
/** What starts a run, or changes one. */
export type RunningOperation = Extract<
  Operation,
  'cancelRun' | 'decideRun' | 'rerunRun' | 'resumeRun' | 'runAutomation' | 'suspendRun'
>;

/** What decides which automations a principal is shown in a list. */
export function viewerOf(rights: Rights, principal: Principal): Viewer {
  const { roles, groups } = principal;
  const scope = hasRole(principal, listingRoles) ? 'all' : rights.scope(principal, 'listAutomations');
  return { seesAll: roles.includes('admin'), groups, ...(scope !== 'all' && { workflows: scope }) };
}

/**
 * Whether the role of the principal shows it the automation. Group lists restrict every principal except admins. A principal that may write but not
 * list sees the automations that it may write.
 */
export function seesByRole(principal: Principal, automation: Automation): boolean {
  if (principal.roles.includes('admin')) return true;
  if (!isReader(principal, automation)) return false;
  return hasRole(principal, listingRoles) || (hasRole(principal, writingRoles) && isWriter(principal, automation));
}

/** Whether a role or a right lets the principal read the automation as a whole. */
export function mayRead(rights: Rights, principal: Principal, operation: ReadingOperation, automation: Automation): boolean {
  const isByRole = hasRole(principal, operations[operation]) && seesByRole(principal, automation);
  return isByRole || (rights.covers(principal, operation, namedWorkflow(automation)) && isReader(principal, automation));
}

/** Whether a role or a right lets the principal change an automation that it may see, or make it from nothing. */
export function mayEdit(rights: Rights, principal: Principal, operation: ChangingOperation, automation: Automation): boolean {
  if (principal.roles.includes('admin')) return true;
  return permitsChange(rights, principal, operation, namedWorkflow(automation)) && isWriter(principal, automation);
}

/** Whether a role or a right allows patches of some automation. */
export function mayPatch(rights: Rights, principal: Principal): boolean {
  return hasRole(principal, writingRoles) || rights.scope(principal, 'patchAutomation').length > 0;
}

/** Whether a role or a right allows the change of an automation that names this workflow. */
export function permitsChange(
  rights: Rights,
  principal: Principal,
  operation: ChangingOperation,
  workflow: string | undefined,
): boolean {
  // Every caller may ask for a patch, since who may run an automation may pause it.
  if (operation !== 'patchAutomation') return rights.permits(principal, operation, workflow);
  return hasRole(principal, writingRoles) || rights.covers(principal, operation, workflow);
}

/** Whether the principal may know of the automation: it may read it, or change it in some way. */
export function maySee(rights: Rights, principal: Principal, operation: ChangingOperation, automation: Automation): boolean {
  if (seesByRole(principal, automation)) return true;
  if (!isReader(principal, automation)) return false;
  return (['readAutomation', 'listAutomations', operation] as const).some((each) =>
    rights.covers(principal, each, namedWorkflow(automation)),
  );
}

/**
 * Whether the principal may start a run of an automation, or change one. A role that shows and changes the automation allows it. So does
 * membership of a group that may write it, with any role, and a right to the operation. `workflow`: of the run.
 */
export function mayRun(
  rights: Rights,
  {
    principal,
    operation,
    workflow,
  }: { readonly principal: Principal; readonly operation: RunningOperation; readonly workflow: string | undefined },
  automation: Automation,
): boolean {
  if (operation !== 'decideRun' && mayRunByRole(principal, automation)) return true;
  return rights.covers(principal, operation, workflow) && isReader(principal, automation) && isWriter(principal, automation);
}

/** As `mayRun`, without rights. */
export function mayRunByRole(principal: Principal, automation: Automation): boolean {
  const writers = automation.data?.gbac?.write ?? [];
  if (writers.length > 0 && isAmong(principal, new Set(writers))) return true;
  if (principal.roles.includes('admin')) return true;
  return hasRole(principal, runRoles) && isReader(principal, automation) && isWriter(principal, automation);
}

/** Whether the groups that may see the automation leave the principal in. */
export function isReader(principal: Principal, automation: Automation): boolean {
  return isAmong(principal, readersOf(automation));
}

function isWriter(principal: Principal, { data }: Automation): boolean {
  const writers = data?.gbac?.write ?? [];
  return writers.length === 0 || isAmong(principal, new Set(writers));
}

/** `undefined`: every principal is among them. */
function isAmong({ groups }: Principal, wanted: ReadonlySet<string> | undefined): boolean {
  return wanted === undefined || groups.some((group) => wanted.has(group));
}

export function namedWorkflow({ data }: Pick<Automation, 'data'>): string | undefined {
  return data?.workflowId;
}
