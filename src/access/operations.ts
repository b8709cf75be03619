import type { Role } from './principal.ts';

/** Who may use an operation without a right of its own: everyone, every authenticated caller, or callers with one of the roles. */
export type OperationAccess = 'everyone' | 'callers' | readonly Role[];

const listing = ['admin', 'other', 'readonly', 'apiread'] as const satisfies readonly Role[];
const reading = [...listing, 'engineering'] as const;
const writing = ['admin', 'engineering'] as const satisfies readonly Role[];
const admin = ['admin'] as const satisfies readonly Role[];

/**
 * Every operation of `/openapi.json` by its operationId (docs/reference/specification-coverage.md, "Authentication"). Where every caller
 * may ask, its object decides: an automation, a run or an approval. A right of the operator's own roles replaces the role.
 */
export const operations = {
  restCall: writing,
  restAction: admin,
  restQuery: admin,
  restRequest: admin,
  preview: admin,
  listAdapters: admin,
  testAdapter: admin,
  reloadAdapters: admin,
  listAutomations: listing,
  createAutomation: writing,
  readAutomation: reading,
  replaceAutomation: writing,
  patchAutomation: 'callers',
  deleteAutomation: writing,
  takeAutomation: writing,
  importAutomations: admin,
  exportAutomations: admin,
  listWorkflows: listing,
  createWorkflow: writing,
  checkWorkflow: writing,
  readWorkflow: reading,
  deleteWorkflow: writing,
  takeWorkflow: writing,
  listForms: listing,
  readForm: reading,
  putForm: writing,
  deleteForm: writing,
  runAutomation: 'callers',
  listRuns: 'callers',
  readRun: 'callers',
  listRunTasks: 'callers',
  listRunCalls: 'callers',
  followRun: 'callers',
  cancelRun: 'callers',
  suspendRun: 'callers',
  resumeRun: 'callers',
  rerunRun: 'callers',
  decideRun: admin,
  followEvents: 'callers',
  sendEvents: writing,
  listApprovals: 'callers',
  readApproval: 'callers',
  grantApproval: 'callers',
  rejectApproval: 'callers',
  previewApproval: 'callers',
  listNotifications: admin,
  listAudit: admin,
  verifyAudit: admin,
  explainAccess: admin,
  login: 'everyone',
  logout: 'callers',
  whoami: 'callers',
  issueToken: 'everyone',
  listLoginIssuers: 'everyone',
  beginIssuerLogin: 'everyone',
  endIssuerLogin: 'everyone',
  healthz: 'everyone',
  readyz: 'everyone',
  metrics: ['admin', 'readonly', 'apiread'],
  openapi: 'everyone',
  docs: 'everyone',
} as const satisfies Readonly<Record<string, OperationAccess>>;

/** An operationId of `/openapi.json`. */
export type Operation = keyof typeof operations;

export const operationNames = Object.keys(operations) as readonly Operation[];

/** Relays a call to a far side. A right without `routes` means these. */
export const relayOperations = ['restCall', 'restAction', 'restQuery', 'restRequest'] as const satisfies readonly Operation[];

/** Its object is a workflow, an automation that names one, or a run of one: `workflows` can limit a right to it. */
export const workflowOperations = [
  'listAutomations',
  'createAutomation',
  'readAutomation',
  'replaceAutomation',
  'patchAutomation',
  'deleteAutomation',
  'takeAutomation',
  'importAutomations',
  'exportAutomations',
  'listWorkflows',
  'createWorkflow',
  'checkWorkflow',
  'readWorkflow',
  'deleteWorkflow',
  'takeWorkflow',
  'runAutomation',
  'listRuns',
  'readRun',
  'listRunTasks',
  'listRunCalls',
  'followRun',
  'cancelRun',
  'suspendRun',
  'resumeRun',
  'rerunRun',
  'decideRun',
  'followEvents',
] as const satisfies readonly Operation[];

/** Changes of runs. The groups of the automation (gbac) decide too: members of its `gbac.write` may make these changes in any role. */
export const runOperations = [
  'runAutomation',
  'cancelRun',
  'suspendRun',
  'resumeRun',
  'rerunRun',
] as const satisfies readonly Operation[];

/** The roles that may change runs, where the groups of the automation let them. */
export const runRoles = writing;

export function isOperation(name: string): name is Operation {
  return Object.hasOwn(operations, name);
}

export function isRelayOperation(operation: Operation): operation is (typeof relayOperations)[number] {
  return (relayOperations as readonly Operation[]).includes(operation);
}

export function isWorkflowOperation(operation: Operation): operation is (typeof workflowOperations)[number] {
  return (workflowOperations as readonly Operation[]).includes(operation);
}
