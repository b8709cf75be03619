import { hasRole, type Principal, type Role } from '#access/principal.ts';
import { type Operation, operations, runRoles } from '#access/rights/operations.ts';
import type { Rights } from '#access/rights/rights.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { type Automation, readersOf } from './automation.ts';
import type { Viewer } from './store/automation-list-store.ts';

/** docs/reference/specification-coverage.md */
export const listingRoles = operations.listAutomations satisfies readonly Role[];
const writingRoles = operations.createAutomation satisfies readonly Role[];

type ReadingOperation = Extract<Operation, 'exportAutomations' | 'listAutomations' | 'readAutomation' | 'readAutomationHistory'>;
type ChangingOperation = Extract<
  Operation,
  'createAutomation' | 'deleteAutomation' | 'importAutomations' | 'patchAutomation' | 'replaceAutomation' | 'takeAutomation'
>;
export type RunningOperation = Extract<
  Operation,
  'cancelRun' | 'decideRun' | 'rerunRun' | 'resumeRun' | 'runAutomation' | 'suspendRun'
>;

export function viewerOf(rights: Rights, principal: Principal): Viewer {
  const { roles, groups } = principal;
  const scope = hasRole(principal, listingRoles) ? 'all' : rights.scope(principal, 'listAutomations');
  return { seesAll: roles.includes('admin'), groups, ...(scope !== 'all' && { workflows: scope }) };
}

/** Group lists restrict every principal but admins. Who may write and not list sees what they may write. */
export function seesByRole(principal: Principal, automation: Automation): boolean {
  if (principal.roles.includes('admin')) return true;
  if (!isReader(principal, automation)) return false;
  return hasRole(principal, listingRoles) || (hasRole(principal, writingRoles) && isWriter(principal, automation));
}

export function mayRead(rights: Rights, principal: Principal, operation: ReadingOperation, automation: Automation): boolean {
  const isByRole = hasRole(principal, operations[operation]) && seesByRole(principal, automation);
  return isByRole || (rights.covers(principal, operation, namedWorkflow(automation)) && isReader(principal, automation));
}

export function mayEdit(rights: Rights, principal: Principal, operation: ChangingOperation, automation: Automation): boolean {
  if (principal.roles.includes('admin')) return true;
  return permitsChange(rights, principal, operation, namedWorkflow(automation)) && isWriter(principal, automation);
}

/** True if a role or a right allows patches of some automation. */
export function mayPatch(rights: Rights, principal: Principal): boolean {
  return hasRole(principal, writingRoles) || rights.scope(principal, 'patchAutomation').length > 0;
}

export function permitsChange(
  rights: Rights,
  principal: Principal,
  operation: ChangingOperation,
  workflow: string | undefined,
): boolean {
  // Every caller may ask for a patch: who may run an automation may pause it.
  if (operation !== 'patchAutomation') return rights.permits(principal, operation, workflow);
  return hasRole(principal, writingRoles) || rights.covers(principal, operation, workflow);
}

/** True if the principal may read the automation, or change it in some way. */
export function maySee(rights: Rights, principal: Principal, operation: ChangingOperation, automation: Automation): boolean {
  if (seesByRole(principal, automation)) return true;
  if (!isReader(principal, automation)) return false;
  return (['readAutomation', 'listAutomations', operation] as const).some((each) =>
    rights.covers(principal, each, namedWorkflow(automation)),
  );
}

/** With any role, membership of a group that may write the automation allows it too. `workflow`: of the run. */
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

export function mayRunByRole(principal: Principal, automation: Automation): boolean {
  const writers = automation.data?.gbac?.write ?? [];
  if (writers.length > 0 && isAmong(principal, new Set(writers))) return true;
  if (principal.roles.includes('admin')) return true;
  return hasRole(principal, runRoles) && isReader(principal, automation) && isWriter(principal, automation);
}

export function isReader(principal: Principal, automation: Automation): boolean {
  return isAmong(principal, readersOf(automation));
}

function isWriter(principal: Principal, { data }: Automation): boolean {
  const writers = data?.gbac?.write ?? [];
  return writers.length === 0 || isAmong(principal, new Set(writers));
}

/** `wanted` undefined: every principal is among them. */
function isAmong({ groups }: Principal, wanted: ReadonlySet<string> | undefined): boolean {
  return wanted === undefined || groups.some((group) => wanted.has(group));
}

export function namedWorkflow({ data }: Pick<Automation, 'data'>): string | undefined {
  return data?.workflowId;
}

export function notFound(): GatewayError {
  return new GatewayError('automation-not-found', 'There is no automation with this _id, or none that you may see.');
}

export function notWritable(): GatewayError {
  return new GatewayError(
    'forbidden',
    'Changing this automation needs the role admin, or the role engineering (or a right that covers its workflow) and membership of one of its gbac.write groups.',
  );
}

export function notCovered(): GatewayError {
  return new GatewayError(
    'forbidden',
    'No role and no right of yours covers the workflow of this automation, or one without a workflow.',
  );
}

export function notImportable(): GatewayError {
  return new GatewayError('forbidden', 'no role and no right lets you store this automation');
}

export function notRunnable(): GatewayError {
  return new GatewayError(
    'forbidden',
    'Pausing and resuming this automation needs the right to run it: a role that may change it, or membership of one of its gbac.write groups.',
  );
}

export function pausedByWriter(): GatewayError {
  return new GatewayError(
    'forbidden',
    'A person who may write its workflow has paused this automation, and only such a person ends the pause.',
  );
}

export function notWorkflowWriter(what: string, reason: string): GatewayError {
  return new GatewayError('forbidden', `${what} needs the right to write the workflow, and writing it ${reason}.`);
}

export function nameTaken(name: string): GatewayError {
  return new GatewayError(
    'automation-exists',
    `Another automation has the name ${JSON.stringify(name)}; names are unique, choose another.`,
    {
      errors: [{ pointer: '/name', detail: 'is the name of another automation' }],
      logged: 'Another automation has this name; names are unique.',
    },
  );
}
