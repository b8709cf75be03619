import type { Role } from '../principal.ts';

/** Without a right of its own. */
export type OperationAccess = 'everyone' | 'callers' | readonly Role[];

const listing = ['admin', 'other', 'readonly', 'apiread'] as const satisfies readonly Role[];
const reading = [...listing, 'engineering'] as const;
const writing = ['admin', 'engineering'] as const satisfies readonly Role[];
const monitoring = ['admin', 'readonly', 'apiread'] as const satisfies readonly Role[];
const admin = ['admin'] as const satisfies readonly Role[];

/**
 * Every operationId of `/openapi.json` (docs/reference/specification-coverage.md, "Authentication"). Where every caller may ask,
 * the object decides: an automation, a run or an approval. A right of the operator's own roles replaces the role.
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
  previewAutomation: writing,
  readAutomation: reading,
  readAutomationHistory: reading,
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
  readWorkflowLanguage: 'callers',
  listForms: listing,
  readForm: reading,
  putForm: writing,
  deleteForm: writing,
  runAutomation: 'callers',
  listRuns: 'callers',
  readRun: 'callers',
  listRunTasks: 'callers',
  readTask: 'callers',
  readTaskData: 'callers',
  previewTask: 'callers',
  listBatchItems: 'callers',
  listRunCalls: 'callers',
  followRun: 'callers',
  cancelRun: 'callers',
  suspendRun: 'callers',
  resumeRun: 'callers',
  rerunRun: 'callers',
  decideRun: admin,
  releaseRuns: admin,
  followEvents: 'callers',
  sendEvents: writing,
  listApprovals: 'callers',
  readApproval: 'callers',
  grantApproval: 'callers',
  rejectApproval: 'callers',
  previewApproval: 'callers',
  readRunStatistics: 'callers',
  readCallStatistics: monitoring,
  listNotifications: admin,
  listAudit: admin,
  readAuditBody: admin,
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
  metrics: monitoring,
  openapi: 'everyone',
  docs: 'everyone',
} as const satisfies Readonly<Record<string, OperationAccess>>;

export type Operation = keyof typeof operations;

export const operationNames = Object.keys(operations) as readonly Operation[];

/** A right without `routes` means these. */
export const relayOperations = ['restCall', 'restAction', 'restQuery', 'restRequest'] as const satisfies readonly Operation[];

/** `workflows` can limit a right to these: their object is a workflow, an automation that names one, or a run of one. */
export const workflowOperations = [
  'listAutomations',
  'createAutomation',
  'previewAutomation',
  'readAutomation',
  'readAutomationHistory',
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
  'readTask',
  'readTaskData',
  'previewTask',
  'listBatchItems',
  'listRunCalls',
  'followRun',
  'cancelRun',
  'suspendRun',
  'resumeRun',
  'rerunRun',
  'decideRun',
  'followEvents',
  'readRunStatistics',
] as const satisfies readonly Operation[];

/** Members of the automation's `gbac.write` may make these changes in any role. */
export const runOperations = [
  'runAutomation',
  'cancelRun',
  'suspendRun',
  'resumeRun',
  'rerunRun',
] as const satisfies readonly Operation[];

/** Where the groups of the automation let them. */
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
