// Made from the OpenAPI document by tools/client.ts. Do not change it by hand.
import type { CallOptions, FollowOptions, Operation, Reply, StreamedEvent } from '../call.ts';
import type {
  CancelRunData,
  CancelRunResponses,
  CheckWorkflowData,
  CheckWorkflowResponses,
  CreateAutomationData,
  CreateAutomationResponses,
  CreateWorkflowData,
  CreateWorkflowResponses,
  DecideRunData,
  DecideRunResponses,
  DeleteAutomationData,
  DeleteAutomationResponses,
  DeleteFormData,
  DeleteFormResponses,
  DeleteWorkflowData,
  DeleteWorkflowResponses,
  DocsData,
  DocsResponses,
  ExplainAccessData,
  ExplainAccessResponses,
  ExportAutomationsData,
  ExportAutomationsResponses,
  FollowEventsData,
  FollowRunData,
  GrantApprovalData,
  GrantApprovalResponses,
  HealthzData,
  HealthzResponses,
  ImportAutomationsData,
  ImportAutomationsResponses,
  IssueTokenData,
  IssueTokenResponses,
  ListAdaptersData,
  ListAdaptersResponses,
  ListApprovalsData,
  ListApprovalsResponses,
  ListAuditData,
  ListAuditResponses,
  ListAutomationsData,
  ListAutomationsResponses,
  ListBatchItemsData,
  ListBatchItemsResponses,
  ListFormsData,
  ListFormsResponses,
  ListLoginIssuersData,
  ListLoginIssuersResponses,
  ListNotificationsData,
  ListNotificationsResponses,
  ListRunCallsData,
  ListRunCallsResponses,
  ListRunTasksData,
  ListRunTasksResponses,
  ListRunsData,
  ListRunsResponses,
  ListWorkflowsData,
  ListWorkflowsResponses,
  LoginData,
  LoginResponses,
  LogoutData,
  LogoutResponses,
  MetricsData,
  MetricsResponses,
  OpenapiData,
  OpenapiResponses,
  PatchAutomationData,
  PatchAutomationResponses,
  PreviewApprovalData,
  PreviewApprovalResponses,
  PreviewAutomationData,
  PreviewAutomationResponses,
  PreviewData,
  PreviewResponses,
  PreviewTaskData,
  PreviewTaskResponses,
  PutFormData,
  PutFormResponses,
  ReadApprovalData,
  ReadApprovalResponses,
  ReadAuditBodyData,
  ReadAuditBodyResponses,
  ReadAutomationData,
  ReadAutomationHistoryData,
  ReadAutomationHistoryResponses,
  ReadAutomationResponses,
  ReadCallStatisticsData,
  ReadCallStatisticsResponses,
  ReadFormData,
  ReadFormResponses,
  ReadRunData,
  ReadRunResponses,
  ReadRunStatisticsData,
  ReadRunStatisticsResponses,
  ReadTaskData,
  ReadTaskDataData,
  ReadTaskDataResponses,
  ReadTaskResponses,
  ReadWorkflowData,
  ReadWorkflowLanguageData,
  ReadWorkflowLanguageResponses,
  ReadWorkflowResponses,
  ReadyzData,
  ReadyzResponses,
  RejectApprovalData,
  RejectApprovalResponses,
  ReleaseRunsData,
  ReleaseRunsResponses,
  ReloadAdaptersData,
  ReloadAdaptersResponses,
  ReplaceAutomationData,
  ReplaceAutomationResponses,
  RerunRunData,
  RerunRunResponses,
  RestActionData,
  RestActionResponses,
  RestCallData,
  RestCallResponses,
  RestQueryData,
  RestQueryResponses,
  RestRequestData,
  RestRequestResponses,
  ResumeRunData,
  ResumeRunResponses,
  RunAutomationData,
  RunAutomationResponses,
  SendEventsData,
  SendEventsResponses,
  SuspendRunData,
  SuspendRunResponses,
  TakeAutomationData,
  TakeAutomationResponses,
  TakeWorkflowData,
  TakeWorkflowResponses,
  TestAdapterData,
  TestAdapterResponses,
  VerifyAuditData,
  VerifyAuditResponses,
  WhoamiData,
  WhoamiResponses,
} from './types.gen.ts';

export const operations = {
  restCall: { method: 'POST', path: '/tools/restCall', body: 'application/json', roles: ['admin', 'engineering'] },
  restAction: { method: 'POST', path: '/orchestrator_manager/restAction/{adapterId}', body: 'application/json', roles: ['admin'] },
  restQuery: { method: 'POST', path: '/orchestrator_manager/restQuery/{adapterId}', body: 'application/json', roles: ['admin'] },
  restRequest: { method: 'POST', path: '/orchestrator_manager/restRequest/{adapterId}', body: 'application/json', roles: ['admin'] },
  preview: { method: 'POST', path: '/orchestrator_manager/preview/{adapterId}', body: 'application/json', roles: ['admin'] },
  listAdapters: { method: 'GET', path: '/adapters', roles: ['admin'] },
  testAdapter: { method: 'POST', path: '/adapters/{adapterId}/test', roles: ['admin'] },
  listAutomations: { method: 'GET', path: '/automation_catalog/automations', pages: 'skip', roles: ['admin', 'other', 'readonly', 'apiread'] },
  createAutomation: { method: 'POST', path: '/automation_catalog/automations', body: 'application/json', roles: ['admin', 'engineering'] },
  readAutomation: { method: 'GET', path: '/automation_catalog/automations/{id}', roles: ['admin', 'other', 'readonly', 'apiread', 'engineering'] },
  replaceAutomation: { method: 'PUT', path: '/automation_catalog/automations/{id}', body: 'application/json', roles: ['admin', 'engineering'] },
  patchAutomation: { method: 'PATCH', path: '/automation_catalog/automations/{id}', body: 'application/merge-patch+json', roles: 'callers' },
  deleteAutomation: { method: 'DELETE', path: '/automation_catalog/automations/{id}', roles: ['admin', 'engineering'] },
  takeAutomation: { method: 'POST', path: '/automation_catalog/automations/{id}/take', roles: ['admin', 'engineering'] },
  importAutomations: { method: 'POST', path: '/automation_catalog/import', body: 'application/x-ndjson', roles: ['admin'] },
  exportAutomations: { method: 'GET', path: '/automation_catalog/export', roles: ['admin'] },
  previewAutomation: { method: 'POST', path: '/automation_catalog/automations/preview', body: 'application/json', roles: ['admin', 'engineering'] },
  readAutomationHistory: { method: 'GET', path: '/automation_catalog/automations/{id}/history', pages: 'cursor', roles: ['admin', 'other', 'readonly', 'apiread', 'engineering'] },
  createWorkflow: { method: 'POST', path: '/automation_catalog/workflows', body: 'application/json', roles: ['admin', 'engineering'] },
  listWorkflows: { method: 'GET', path: '/automation_catalog/workflows', pages: 'skip', roles: ['admin', 'other', 'readonly', 'apiread'] },
  checkWorkflow: { method: 'POST', path: '/automation_catalog/workflows/check', body: 'application/json', roles: ['admin', 'engineering'] },
  readWorkflow: { method: 'GET', path: '/automation_catalog/workflows/{id}', roles: ['admin', 'other', 'readonly', 'apiread', 'engineering'] },
  deleteWorkflow: { method: 'DELETE', path: '/automation_catalog/workflows/{id}', roles: ['admin', 'engineering'] },
  takeWorkflow: { method: 'POST', path: '/automation_catalog/workflows/{id}/take', roles: ['admin', 'engineering'] },
  readWorkflowLanguage: { method: 'GET', path: '/automation_catalog/workflows/language', roles: 'callers' },
  listForms: { method: 'GET', path: '/automation_catalog/forms', pages: 'skip', roles: ['admin', 'other', 'readonly', 'apiread'] },
  readForm: { method: 'GET', path: '/automation_catalog/forms/{id}', roles: ['admin', 'other', 'readonly', 'apiread', 'engineering'] },
  putForm: { method: 'PUT', path: '/automation_catalog/forms/{id}', body: 'application/json', roles: ['admin', 'engineering'] },
  deleteForm: { method: 'DELETE', path: '/automation_catalog/forms/{id}', roles: ['admin', 'engineering'] },
  listRuns: { method: 'GET', path: '/runs', pages: 'cursor', roles: 'callers' },
  readRun: { method: 'GET', path: '/runs/{id}', roles: 'callers' },
  listRunCalls: { method: 'GET', path: '/runs/{id}/calls', pages: 'cursor', roles: 'callers' },
  listRunTasks: { method: 'GET', path: '/runs/{id}/tasks', pages: 'cursor', roles: 'callers' },
  readTask: { method: 'GET', path: '/runs/{id}/tasks/{taskId}', roles: 'callers' },
  readTaskData: { method: 'GET', path: '/runs/{id}/tasks/{taskId}/data', roles: 'callers' },
  listBatchItems: { method: 'GET', path: '/runs/{id}/tasks/{taskId}/items', pages: 'cursor', roles: 'callers' },
  previewTask: { method: 'POST', path: '/runs/{id}/tasks/{taskId}/preview', body: 'application/json', roles: 'callers' },
  runAutomation: { method: 'POST', path: '/automation_catalog/automations/{id}/run', body: 'application/json', roles: 'callers' },
  cancelRun: { method: 'POST', path: '/runs/{id}/cancel', roles: 'callers' },
  suspendRun: { method: 'POST', path: '/runs/{id}/suspend', roles: 'callers' },
  resumeRun: { method: 'POST', path: '/runs/{id}/resume', body: 'application/json', roles: 'callers' },
  decideRun: { method: 'POST', path: '/runs/{id}/decide', body: 'application/json', roles: ['admin'] },
  rerunRun: { method: 'POST', path: '/runs/{id}/rerun', body: 'application/json', roles: 'callers' },
  followRun: { method: 'GET', path: '/runs/{id}/events', follows: true, roles: 'callers' },
  followEvents: { method: 'GET', path: '/events', follows: true, roles: 'callers' },
  sendEvents: { method: 'POST', path: '/events', body: 'application/cloudevents+json', roles: ['admin', 'engineering'] },
  releaseRuns: { method: 'POST', path: '/runs/release', body: 'application/json', roles: ['admin'] },
  listApprovals: { method: 'GET', path: '/approvals', pages: 'cursor', roles: 'callers' },
  readApproval: { method: 'GET', path: '/approvals/{id}', roles: 'callers' },
  grantApproval: { method: 'POST', path: '/approvals/{id}/grant', body: 'application/json', roles: 'callers' },
  rejectApproval: { method: 'POST', path: '/approvals/{id}/reject', body: 'application/json', roles: 'callers' },
  previewApproval: { method: 'POST', path: '/approvals/{id}/preview', body: 'application/json', roles: 'callers' },
  listNotifications: { method: 'GET', path: '/notifications', pages: 'cursor', roles: ['admin'] },
  login: { method: 'POST', path: '/login', body: 'application/json', roles: 'everyone' },
  logout: { method: 'POST', path: '/logout', roles: 'callers' },
  whoami: { method: 'GET', path: '/whoami', roles: 'callers' },
  issueToken: { method: 'POST', path: '/oauth/token', body: 'application/x-www-form-urlencoded', roles: 'everyone' },
  listLoginIssuers: { method: 'GET', path: '/login/issuers', roles: 'everyone' },
  explainAccess: { method: 'POST', path: '/access/explain', body: 'application/json', roles: ['admin'] },
  listAudit: { method: 'GET', path: '/audit', pages: 'cursor', roles: ['admin'] },
  readAuditBody: { method: 'GET', path: '/audit/{id}/body', roles: ['admin'] },
  verifyAudit: { method: 'POST', path: '/audit/verify', body: 'application/json', roles: ['admin'] },
  readRunStatistics: { method: 'GET', path: '/statistics/runs', roles: 'callers' },
  readCallStatistics: { method: 'GET', path: '/statistics/calls', roles: ['admin', 'readonly', 'apiread'] },
  healthz: { method: 'GET', path: '/healthz', roles: 'everyone' },
  readyz: { method: 'GET', path: '/readyz', roles: 'everyone' },
  metrics: { method: 'GET', path: '/metrics', roles: ['admin', 'readonly', 'apiread'] },
  reloadAdapters: { method: 'POST', path: '/adapters/reload', roles: ['admin'] },
  openapi: { method: 'GET', path: '/openapi.json', roles: 'everyone' },
  docs: { method: 'GET', path: '/docs', roles: 'everyone' },
} as const satisfies Readonly<Record<string, Operation>>;

/** The operationIds. */
export type OperationName = keyof typeof operations;

/** A method for each operation. */
export interface Operations {
  /**
   * Send a REST call and return its reply
   *
   * Any status of the upstream is a success: the gateway replies 200 and has that status in `X-Upstream-Status`. Only a missing HTTP reply is an error.
   *
   * The outbound policy decides on every address before the gateway connects to it; by default only public addresses are allowed. The gateway follows up to `outbound.redirects` redirects (default five). Where a redirect changes the origin, it drops `user`, `password` and all your headers but `Accept…`, `Content-Type`, `User-Agent` and `traceparent`. A call is never sent twice.
   *
   * `body` is sent with any verb, as JSON unless `headers` has another Content-Type. A `+json` type is sent like JSON, `application/x-www-form-urlencoded` from a flat object, and an XML type by the mapping of the action route. A reply body that is not text is returned as base64, with `X-Upstream-Body-Encoding: base64`.
   *
   * For callers with one of the roles admin, engineering.
   */
  restCall(options: CallOptions<RestCallData>): Promise<Reply<RestCallResponses[keyof RestCallResponses]>>;
  /**
   * Send a REST action (POST) to the orchestrator; it is never sent twice
   *
   * The gateway appends `params.path` to the address of the adapter instance and sends it unchanged, never decoded or normalised. For the kinds nso and restconf an empty `body` (`{}`) sends no message body.
   *
   * For an XML `contentType` the object is written as XML: one root, attributes as `@name`, text as `#text`, an array as repeated elements. `{ "$xml": "<…/>" }` is sent unchanged.
   *
   * A status of 400 or above becomes 502 `upstream-error` with the message of the orchestrator. Where the action left and got no reply, the error is `outcome-unknown`: the action may have happened.
   *
   * For the role admin.
   */
  restAction(options: CallOptions<RestActionData>): Promise<Reply<RestActionResponses[keyof RestActionResponses]>>;
  /**
   * Send a REST query (GET) to the orchestrator
   *
   * Each instance in the reply becomes one element: the entries of a list, or a single object. Strings stay unchanged; any other value becomes its exact JSON text, so that large numbers keep their digits. XML and other text is one instance, with one property named after the root element, or `content`.
   *
   * A missing resource is an error (502 `upstream-error` with `upstream.status` 404); an empty resource gives an empty `result`. The gateway repeats a query after a failed connection.
   *
   * For the role admin.
   */
  restQuery(options: CallOptions<RestQueryData>): Promise<Reply<RestQueryResponses[keyof RestQueryResponses]>>;
  /**
   * Send any request to the orchestrator; an error status is a success
   *
   * For PATCH, PUT and DELETE of configuration, which the two routes above cannot send. Path, media types and `body` follow the rules of the action route; but an empty `body` (`{}`) is sent as it is, except with POST to the kinds nso and restconf. Any status of the orchestrator is a success, except a redirect, which is refused.
   *
   * For the role admin.
   */
  restRequest(options: CallOptions<RestRequestData>): Promise<Reply<RestRequestResponses[keyof RestRequestResponses]>>;
  /**
   * Ask the orchestrator what a request would change; nothing is changed
   *
   * Takes the body of restRequest, and `format` in the body or in the query. An adapter instance of kind nso is asked for a dry run: of a configuration change (POST, PUT, PATCH, DELETE below `restconf/data`), or of `sync-from`, `sync-to`, `re-deploy` and `un-deploy`. Nothing else is sent.
   *
   * A server that does not know dry runs may execute the request. So the gateway first reads the YANG library of the node that gets the dry run, and sends none where the module `tailf-ncs` is not in it.
   *
   * Where there is no preview, the reply is 200 too, with `kind` `none` and the reason: another kind of adapter, a request without a dry run, or the answer of an orchestrator that would refuse the request.
   *
   * For the role admin.
   */
  preview(options: CallOptions<PreviewData>): Promise<Reply<PreviewResponses[keyof PreviewResponses]>>;
  /**
   * List the adapter instances with their state
   *
   * The state as this gateway knows it: each gateway learns it from its own calls and probes. `unknown`: never called nor probed. `degraded`: the credentials of the adapter instance are refused, a probe found another server or path than expected, or some of the addresses are offline. `offline`: all addresses are. `lastError` has the reason.
   *
   * For the role admin.
   */
  listAdapters(options?: CallOptions<ListAdaptersData>): Promise<Reply<ListAdaptersResponses[keyof ListAdaptersResponses]>>;
  /**
   * Test an adapter instance now
   *
   * Sends a health probe to every address, over a new connection and with the credentials of the adapter instance. The reply lists each step with its time, up to the first failure, and what was requested. For the kinds nso and restconf the test succeeds only if the server answers as RESTCONF does; the test takes ten seconds at most. The status is 200 even if a step failed: `ok` is then false.
   *
   * For the role admin.
   */
  testAdapter(options: CallOptions<TestAdapterData>): Promise<Reply<TestAdapterResponses[keyof TestAdapterResponses]>>;
  /**
   * List the automations in alphabetical order
   *
   * The options have three forms: `?limit=50`, `?queryParameters[limit]=50`, or one JSON object in `queryParameters`. A request uses one form, and each option once. An automation with a `read` list is listed and counted only for members of its `read` and `write` groups and for admins. Two listings run at a time. Others wait for up to 10 seconds, then get 503 `overloaded`; callers that wait take turns.
   *
   * For callers with one of the roles admin, other, readonly, apiread.
   */
  listAutomations(options?: CallOptions<ListAutomationsData>): Promise<Reply<ListAutomationsResponses[keyof ListAutomationsResponses]>>;
  /**
   * Create an automation
   *
   * Only `name` is required. The gateway sets `_id`, `lastModifiedBy` and `data.lastUpdated`, and ignores them in the body.
   *
   * For callers with one of the roles admin, engineering.
   */
  createAutomation(options: CallOptions<CreateAutomationData>): Promise<Reply<CreateAutomationResponses[keyof CreateAutomationResponses]>>;
  /**
   * Read an automation
   *
   * An automation that the caller may not see gets 404. A caller with the role engineering sees the automations that it may write. `***` is in place of what `data.input` has for password fields of the form, in every reply with the automation but an export. A write of `***` there keeps the value.
   *
   * For callers with one of the roles admin, other, readonly, apiread, engineering.
   */
  readAutomation(options: CallOptions<ReadAutomationData>): Promise<Reply<ReadAutomationResponses[keyof ReadAutomationResponses]>>;
  /**
   * Replace an automation
   *
   * The body is the whole automation: a missing field is removed.
   *
   * For callers with one of the roles admin, engineering.
   */
  replaceAutomation(options: CallOptions<ReplaceAutomationData>): Promise<Reply<ReplaceAutomationResponses[keyof ReplaceAutomationResponses]>>;
  /**
   * Change parts of an automation (JSON merge patch, RFC 7396)
   *
   * A null member removes the field, an object is merged, any other value replaces the field. The media type `application/json` has the same meaning. A patch of `nextRunAt` alone to `null` pauses the schedule, and to `next` resumes it with its next time from now: callers that may run the automation may do both. A pause by a person who may write the workflow is ended only by such a person.
   *
   * For every authenticated caller, with any role.
   */
  patchAutomation(options: CallOptions<PatchAutomationData>): Promise<Reply<PatchAutomationResponses[keyof PatchAutomationResponses]>>;
  /**
   * Delete an automation
   *
   * For callers with one of the roles admin, engineering.
   */
  deleteAutomation(options: CallOptions<DeleteAutomationData>): Promise<Reply<DeleteAutomationResponses[keyof DeleteAutomationResponses]>>;
  /**
   * Take over an automation
   *
   * Makes the caller the author of all that the automation says, and its scheduler. The automation stays as it is. The caller needs the right to write its workflow. Who wrote a value before still approves no call of its runs.
   *
   * For callers with one of the roles admin, engineering.
   */
  takeAutomation(options: CallOptions<TakeAutomationData>): Promise<Reply<TakeAutomationResponses[keyof TakeAutomationResponses]>>;
  /**
   * Import automations, forms and workflows (NDJSON)
   *
   * Imports all documents or none, and judges the right to each like that to a single write. Every field is kept as given, but for those that say who answers for a document: the importer answers for what a line changes. An automation replaces the one with the same `_id`, and a form the one with the same id; an automation without an `_id` gets one. A version of a workflow never changes. The lines may name each other. It has at most 20,000 documents and 64 MiB, and the gateway checks all of it before any change. Four imports run at a time; others wait for ten seconds. The reply names each problem as `/LINE/field` (the first ten thousand).
   *
   * For the role admin.
   */
  importAutomations(options: CallOptions<ImportAutomationsData>): Promise<Reply<ImportAutomationsResponses[keyof ImportAutomationsResponses]>>;
  /**
   * Export the catalogue (NDJSON)
   *
   * A snapshot of the catalogue, with one document on each line: the format of the import. The forms come first, in the order of their ids, then the workflows with all their versions, and then the automations by name. An aborted export has no end of the transfer coding; HTTP clients report that as an error. Two exports run at a time.
   *
   * For the role admin.
   */
  exportAutomations(options?: CallOptions<ExportAutomationsData>): Promise<Reply<ExportAutomationsResponses[keyof ExportAutomationsResponses]>>;
  /**
   * See what an automation would do, and store nothing
   *
   * Takes the body of `createAutomation`. `errors` are the reasons for which that would refuse it, and `warnings` those for which its schedule can begin no run. `next` has the first five times by its schedule; they are there with errors too, where the schedule itself is valid.
   *
   * For callers with one of the roles admin, engineering.
   */
  previewAutomation(options: CallOptions<PreviewAutomationData>): Promise<Reply<PreviewAutomationResponses[keyof PreviewAutomationResponses]>>;
  /**
   * Read what people changed of an automation, the newest first
   *
   * For those who may read the automation. Changes are left out whose `document` the caller could not read if it were the present one, by its groups and its workflow. A write that changes no value has no entry, and neither has what a schedule does by itself. `document` is as it was after the change, or before the deletion. Of a deleted automation for admins alone, for `audit.retention`. What an automation with the same `_id` was before a deletion is also for admins alone.
   *
   * For callers with one of the roles admin, other, readonly, apiread, engineering.
   */
  readAutomationHistory(options: CallOptions<ReadAutomationHistoryData>): Promise<Reply<ReadAutomationHistoryResponses[keyof ReadAutomationHistoryResponses]>>;
  /**
   * Store a version of a workflow
   *
   * The document has its own id, `namespace.name`, and version. A version never changes: the same bytes again get the same reply, other content gets 409. A role or a right has to allow each call of the document, and of the workflows that it runs; 403 lists the calls that are missing.
   *
   * For callers with one of the roles admin, engineering.
   */
  createWorkflow(options: CallOptions<CreateWorkflowData>): Promise<Reply<CreateWorkflowResponses[keyof CreateWorkflowResponses]>>;
  /**
   * List the workflows by id
   *
   * Each workflow is listed once, with its newest version. The options have the forms of the listing of automations.
   *
   * For callers with one of the roles admin, other, readonly, apiread.
   */
  listWorkflows(options?: CallOptions<ListWorkflowsData>): Promise<Reply<ListWorkflowsResponses[keyof ListWorkflowsResponses]>>;
  /**
   * Check a workflow and store nothing
   *
   * Finds the same problems as storing the document does, with the calls for which the caller has no right. No expression is run.
   *
   * For callers with one of the roles admin, engineering.
   */
  checkWorkflow(options: CallOptions<CheckWorkflowData>): Promise<Reply<CheckWorkflowResponses[keyof CheckWorkflowResponses]>>;
  /**
   * Read a workflow
   *
   * The document byte for byte as it was written, or as JSON where `Accept` prefers `application/json` to `application/yaml`.
   *
   * For callers with one of the roles admin, other, readonly, apiread, engineering.
   */
  readWorkflow(options: CallOptions<ReadWorkflowData>): Promise<Reply<ReadWorkflowResponses[keyof ReadWorkflowResponses]>>;
  /**
   * Delete a workflow
   *
   * Deletes the version that `version` names, otherwise all versions. It needs the rights that storing the workflow needs. A version leaves a tombstone: the same bytes can be stored again, other bytes under the same version not.
   *
   * For callers with one of the roles admin, engineering.
   */
  deleteWorkflow(options: CallOptions<DeleteWorkflowData>): Promise<Reply<DeleteWorkflowResponses[keyof DeleteWorkflowResponses]>>;
  /**
   * Take a workflow: answer for its calls from now on
   *
   * The caller becomes the storer of the version that `version` names, otherwise of all versions, if it may write the workflow. The calls of runs count by the rights of the storer of now. Who stored the bytes before stays involved, without lending rights.
   *
   * For callers with one of the roles admin, engineering.
   */
  takeWorkflow(options: CallOptions<TakeWorkflowData>): Promise<Reply<TakeWorkflowResponses[keyof TakeWorkflowResponses]>>;
  /**
   * Read the language of workflow documents
   *
   * What the gateway knows of documents, from the tables that its checks use: for editors. Members are paths with dots, such as `catch.retry.delay`; `*` is a name that the author chooses.
   *
   * For every authenticated caller, with any role.
   */
  readWorkflowLanguage(options?: CallOptions<ReadWorkflowLanguageData>): Promise<Reply<ReadWorkflowLanguageResponses[keyof ReadWorkflowLanguageResponses]>>;
  /**
   * List the forms by id
   *
   * The options have the forms of the listing of automations.
   *
   * For callers with one of the roles admin, other, readonly, apiread.
   */
  listForms(options?: CallOptions<ListFormsData>): Promise<Reply<ListFormsResponses[keyof ListFormsResponses]>>;
  /**
   * Read a form
   *
   * The document byte for byte as it was written.
   *
   * For callers with one of the roles admin, other, readonly, apiread, engineering.
   */
  readForm(options: CallOptions<ReadFormData>): Promise<Reply<ReadFormResponses[keyof ReadFormResponses]>>;
  /**
   * Store a form
   *
   * Creates the form (201), or replaces it (200). The document is kept byte for byte. Default values have to satisfy their own fields.
   *
   * For callers with one of the roles admin, engineering.
   */
  putForm(options: CallOptions<PutFormData>): Promise<Reply<PutFormResponses[keyof PutFormResponses]>>;
  /**
   * Delete a form
   *
   * An automation that names the form in `data.formId` has to be changed or deleted first.
   *
   * For callers with one of the roles admin, engineering.
   */
  deleteForm(options: CallOptions<DeleteFormData>): Promise<Reply<DeleteFormResponses[keyof DeleteFormResponses]>>;
  /**
   * List runs, the newest first
   *
   * The runs of the automations that the caller may see or run, and its own. A page may have fewer runs than its limit, or none, and still a `cursor`.
   *
   * For every authenticated caller, with any role.
   */
  listRuns(options?: CallOptions<ListRunsData>): Promise<Reply<ListRunsResponses[keyof ListRunsResponses]>>;
  /**
   * Read a run: its state, input, output and error
   *
   * For every authenticated caller, with any role.
   */
  readRun(options: CallOptions<ReadRunData>): Promise<Reply<ReadRunResponses[keyof ReadRunResponses]>>;
  /**
   * List the calls that the tasks of a run made, the oldest first
   *
   * From the audit log: the request as it left, and what came of it. A call that may change something is on record before it leaves, and without an `outcome` while it is in flight. Any other call is on record within a second after its end. Bodies are not kept. A page may have fewer calls than its limit, or none, and still a `cursor`: one request reads 20,000 records at most.
   *
   * For every authenticated caller, with any role.
   */
  listRunCalls(options: CallOptions<ListRunCallsData>): Promise<Reply<ListRunCallsResponses[keyof ListRunCallsResponses]>>;
  /**
   * List the tasks of a run in the order of their begin
   *
   * Each turn of a loop and each attempt of a task is an entry of its own. A task that is under way has no `end`. With a filter, a page may have fewer tasks than its limit, or none, and still a `cursor`.
   *
   * For every authenticated caller, with any role.
   */
  listRunTasks(options: CallOptions<ListRunTasksData>): Promise<Reply<ListRunTasksResponses[keyof ListRunTasksResponses]>>;
  /**
   * Read a task of a run
   *
   * For every authenticated caller, with any role.
   */
  readTask(options: CallOptions<ReadTaskData>): Promise<Reply<ReadTaskResponses[keyof ReadTaskResponses]>>;
  /**
   * Read what a task got and gave
   *
   * For who started the run, the authors of its automation, those who may write its workflow, the role admin, and a right to this operation. `***` is in place of credentials: headers, members `password` and `authentication`, fields of a form with the format `password`, and secrets of the workflow.
   *
   * For every authenticated caller, with any role.
   */
  readTaskData(options: CallOptions<ReadTaskDataData>): Promise<Reply<ReadTaskDataResponses[keyof ReadTaskDataResponses]>>;
  /**
   * List the items of a batch
   *
   * Of a task `call: batch`, each item by its index, and what became of it. For those who see the tasks of the run. With a filter, a page may have fewer items than its limit, or none, and still a `cursor`.
   *
   * For every authenticated caller, with any role.
   */
  listBatchItems(options: CallOptions<ListBatchItemsData>): Promise<Reply<ListBatchItemsResponses[keyof ListBatchItemsResponses]>>;
  /**
   * Ask the orchestrator what a call with an unknown outcome would change now
   *
   * For those who may decide about the call. The preview is taken afresh, in the name of the run. It changes nothing at the orchestrator, and the rate limit of the caller counts it. An empty one means that the orchestrator has the change already. With `adapters[].stamp` the reply says whether there is a rollback file with the label of the call.
   *
   * For every authenticated caller, with any role.
   */
  previewTask(options: CallOptions<PreviewTaskData>): Promise<Reply<PreviewTaskResponses[keyof PreviewTaskResponses]>>;
  /**
   * Run an automation
   *
   * Starts the newest release of the workflow that the automation names, or `version`, which those who may write the workflow choose. With `notBefore` its changes wait for that time. For the roles that may change the automation, and for the members of its `gbac.write` groups in any role. The input has to satisfy the form of the automation and the input schema of the workflow.
   *
   * For every authenticated caller, with any role.
   */
  runAutomation(options: CallOptions<RunAutomationData>): Promise<Reply<RunAutomationResponses[keyof RunAutomationResponses]>>;
  /**
   * Cancel a run
   *
   * No further task begins, and a call in flight is aborted: its outcome may be unknown. The runs that the run began are cancelled too. For those who may run its automation. The reply comes once the run has taken the change, or after 5 seconds with the run as it is then; it takes the change later.
   *
   * For every authenticated caller, with any role.
   */
  cancelRun(options: CallOptions<CancelRunData>): Promise<Reply<CancelRunResponses[keyof CancelRunResponses]>>;
  /**
   * Suspend a run
   *
   * No further task begins until the run is resumed. Calls in flight end first; time limits wait. For those who may run its automation. The reply comes once the run has taken the change, or after 5 seconds with the run as it is then; it takes the change later.
   *
   * For every authenticated caller, with any role.
   */
  suspendRun(options: CallOptions<SuspendRunData>): Promise<Reply<SuspendRunResponses[keyof SuspendRunResponses]>>;
  /**
   * Resume a suspended run, or decide about a call whose outcome is unknown
   *
   * Without a body, or with a `reason` alone: for those who may run its automation. A run that is suspended because the outcome of a call is unknown needs a decision instead, as decideRun takes it; who sends it here needs the rights to both. The reply comes once the run has taken the change, or after 5 seconds with the run as it is then; it takes the change later.
   *
   * For every authenticated caller, with any role.
   */
  resumeRun(options: CallOptions<ResumeRunData>): Promise<Reply<ResumeRunResponses[keyof ResumeRunResponses]>>;
  /**
   * Decide about a call whose outcome is unknown
   *
   * A run is suspended where the outcome of a call is unknown, until somebody says what became of it. A second decision about a call is 409. With `items`, one decision is for several items of a batch of the run, and on record for each. The reply comes once the run has taken the change, or after 5 seconds with the run as it is then; it takes the change later.
   *
   * For the role admin.
   */
  decideRun(options: CallOptions<DecideRunData>): Promise<Reply<DecideRunResponses[keyof DecideRunResponses]>>;
  /**
   * Start a new run like this one
   *
   * Without a body with the same input and version. The new run belongs to the caller, and everybody involved in this one is involved in it. For those who may run the automation, of outermost runs alone. A version that a new run would not take is for those who may write the workflow. The input is judged again. With `items` the run repeats what is left of batches, and an item is repeated by one run alone. A batch that had not begun runs whole. Tasks outside of batches run again, as `warnings` says.
   *
   * For every authenticated caller, with any role.
   */
  rerunRun(options: CallOptions<RerunRunData>): Promise<Reply<RerunRunResponses[keyof RerunRunResponses]>>;
  /**
   * Follow a run: its events as they happen
   *
   * From the beginning of the run, and to its last event. A stream ends after an hour, or when the gateway stops: connect again with `Last-Event-ID`. It ends too when its token or session ends, and when a reload changes the password, roles, groups or rights of its caller. A principal has at most 100 streams at a gateway; one more gets 503 `overloaded`.
   *
   * For every authenticated caller, with any role.
   */
  followRun(options: FollowOptions<FollowRunData>): AsyncIterable<StreamedEvent>;
  /**
   * Follow the events of all runs that the caller may see
   *
   * From now on. Lifecycle events and messages of these runs; for the roles admin and engineering also the events that callers send. A change of the rights to an automation counts within 5 seconds. A stream ends after an hour, or when the gateway stops: connect again with `Last-Event-ID`. It ends too when its token or session ends, and when a reload changes the password, roles, groups or rights of its caller. A principal has at most 100 streams at a gateway; one more gets 503 `overloaded`.
   *
   * For every authenticated caller, with any role.
   */
  followEvents(options?: FollowOptions<FollowEventsData>): AsyncIterable<StreamedEvent>;
  /**
   * Send an event, or several, to the runs that listen
   *
   * A CloudEvent 1.0 in structured mode, or a batch of up to 100. A task of a run that exists already, and that begins to listen within 5 minutes, takes the event too. An event with the `source` and `id` of an earlier one of the same caller is dropped, so that a repetition is safe. The gateway sets the attribute `sender`, the id of the caller.
   *
   * For callers with one of the roles admin, engineering.
   */
  sendEvents(options: CallOptions<SendEventsData>): Promise<Reply<SendEventsResponses[keyof SendEventsResponses]>>;
  /**
   * Let runs go on that were under way when the store lost commits
   *
   * After an asynchronous failover PostgreSQL may have less than it acknowledged. The gateway that notices it suspends every run that is under way (`suspendedBy` is `store-loss`). Look at the upstreams first. Of each run, the first call that may change something and has no outcome on record is not made: its outcome is unknown, and people decide about it.
   *
   * For the role admin.
   */
  releaseRuns(options: CallOptions<ReleaseRunsData>): Promise<Reply<ReleaseRunsResponses[keyof ReleaseRunsResponses]>>;
  /**
   * List approvals, the newest first
   *
   * Those that the caller asked for or may decide; with the role admin all of them. Bodies and previews are in `GET /approvals/:id` alone. A page may have fewer than its limit, or none, and still a `cursor`.
   *
   * For every authenticated caller, with any role.
   */
  listApprovals(options?: CallOptions<ListApprovalsData>): Promise<Reply<ListApprovalsResponses[keyof ListApprovalsResponses]>>;
  /**
   * Read an approval: the call as it would leave, its preview and the decisions
   *
   * For every authenticated caller, with any role.
   */
  readApproval(options: CallOptions<ReadApprovalData>): Promise<Reply<ReadApprovalResponses[keyof ReadApprovalResponses]>>;
  /**
   * Grant an approval
   *
   * Only approvers may grant. The grant counts for each rule of which the caller is an approver. A second grant of the same caller changes nothing.
   *
   * For every authenticated caller, with any role.
   */
  grantApproval(options: CallOptions<GrantApprovalData>): Promise<Reply<GrantApprovalResponses[keyof GrantApprovalResponses]>>;
  /**
   * Reject an approval
   *
   * Only approvers may reject. A rejection ends the approval, even one that was granted and not used yet.
   *
   * For every authenticated caller, with any role.
   */
  rejectApproval(options: CallOptions<RejectApprovalData>): Promise<Reply<RejectApprovalResponses[keyof RejectApprovalResponses]>>;
  /**
   * Ask the orchestrator again what the call would do
   *
   * The preview replaces the earlier one. It changes nothing at the orchestrator, and the rate limit of the caller counts it. An approval that is over gets none (409).
   *
   * For every authenticated caller, with any role.
   */
  previewApproval(options: CallOptions<PreviewApprovalData>): Promise<Reply<PreviewApprovalResponses[keyof PreviewApprovalResponses]>>;
  /**
   * List the receivers of notifications, and what was sent to them
   *
   * The receivers of the configuration in force, and their notifications of the last 7 days, the newest first. Of all gateways on the store.
   *
   * For the role admin.
   */
  listNotifications(options?: CallOptions<ListNotificationsData>): Promise<Reply<ListNotificationsResponses[keyof ListNotificationsResponses]>>;
  /**
   * Log in with user name and password
   *
   * The body may also be wrapped as `{ "user": { … } }`. The token is valid for `access.tokenLifetime`. The gateway throttles failed logins by account and by address.
   *
   * Open to everyone, without credentials.
   */
  login(options: CallOptions<LoginData>): Promise<Reply<LoginResponses[keyof LoginResponses]>>;
  /**
   * End the session or token of the request
   *
   * Ends this token on every gateway with the same store. A token of an OIDC issuer ends for these gateways only: the issuer does not learn of it, and may issue another. With Basic credentials there is no token to end.
   *
   * For every authenticated caller, with any role.
   */
  logout(options?: CallOptions<LogoutData>): Promise<Reply<LogoutResponses[keyof LogoutResponses]>>;
  /**
   * Return the principal of the caller
   *
   * For every authenticated caller, with any role.
   */
  whoami(options?: CallOptions<WhoamiData>): Promise<Reply<WhoamiResponses[keyof WhoamiResponses]>>;
  /**
   * OAuth 2.0 client credentials (RFC 6749 4.4)
   *
   * Send the client id and secret in the form, or form-encoded in `Authorization: Basic`, but not in both. The gateway ignores `scope`: a client always has its roles. Errors have the shape of RFC 6749 5.2: `{ "error", "error_description" }`.
   *
   * Open to everyone, without credentials.
   */
  issueToken(options: CallOptions<IssueTokenData>): Promise<Reply<IssueTokenResponses[keyof IssueTokenResponses]>>;
  /**
   * List the issuers by which people can log in
   *
   * The OpenID Connect issuers of the configuration that have a `consoleClientId`. The login page of the console has a button for each. The list is empty where the gateway serves no console.
   *
   * Open to everyone, without credentials.
   */
  listLoginIssuers(options?: CallOptions<ListLoginIssuersData>): Promise<Reply<ListLoginIssuersResponses[keyof ListLoginIssuersResponses]>>;
  /**
   * Explain whether a principal may make a request, and why
   *
   * Asks the decision that every call takes, and sends nothing. `adapter`, `method` and `path` are for the routes that relay a call; the answer does not judge what is not given. For other routes the answer is about the role or the right alone: the access lists of an automation (gbac) hold as well.
   *
   * For the role admin.
   */
  explainAccess(options: CallOptions<ExplainAccessData>): Promise<Reply<ExplainAccessResponses[keyof ExplainAccessResponses]>>;
  /**
   * List the audit log: who did what, with the outcome, newest first
   *
   * A state-changing call without an `outcome` is in flight. Its outcome becomes `unknown` once its gateway has ended or its time limit has passed. A page may have fewer records than its limit, or none, and still a `cursor`. One request looks at 260,000 records at most, reads 20,000 of them, and begins no further part after 0.6 s.
   *
   * For the role admin.
   */
  listAudit(options?: CallOptions<ListAuditData>): Promise<Reply<ListAuditResponses[keyof ListAuditResponses]>>;
  /**
   * Read what a change sent
   *
   * The gateway keeps the body of each change that leaves (`audit.bodies`): with placeholders in place of the secrets of workflows, and with `***` for credentials and for members that `audit.mask` names. Compare `sha256` with `bodySha256` of the record.
   *
   * For the role admin.
   */
  readAuditBody(options: CallOptions<ReadAuditBodyData>): Promise<Reply<ReadAuditBodyResponses[keyof ReadAuditBodyResponses]>>;
  /**
   * Verify that the audit log was not tampered with
   *
   * Does what the command `audit verify` does, in parts: one request verifies for 2 seconds at most. Call again with the `cursor` of the reply until there is none; the result is the sum of the parts. A gateway verifies one part at a time. Other requests wait, and get 503 `overloaded` after 10 seconds.
   *
   * For the role admin.
   */
  verifyAudit(options?: CallOptions<VerifyAuditData>): Promise<Reply<VerifyAuditResponses[keyof VerifyAuditResponses]>>;
  /**
   * Count the runs that ended, by time
   *
   * Of automations that the caller may see, without runs that other runs began; those of deleted automations are for admins alone. A run counts when it ends, with the time since its first task. Runs that ended before the gateway kept statistics are not counted, nor those that are older than `automations.retention`.
   *
   * For every authenticated caller, with any role.
   */
  readRunStatistics(options?: CallOptions<ReadRunStatisticsData>): Promise<Reply<ReadRunStatisticsResponses[keyof ReadRunStatisticsResponses]>>;
  /**
   * Count the calls that ended, by time
   *
   * The calls of callers and of runs, by their `outcome` in the audit log, with the time that the gateway took for them. A call counts when its end is on record; one whose gateway was killed is not counted. Previews are no calls. Those that are older than `audit.retention` are not counted.
   *
   * For callers with one of the roles admin, readonly, apiread.
   */
  readCallStatistics(options?: CallOptions<ReadCallStatisticsData>): Promise<Reply<ReadCallStatisticsResponses[keyof ReadCallStatisticsResponses]>>;
  /**
   * Check whether the process is alive
   *
   * Open to everyone, without credentials.
   */
  healthz(options?: CallOptions<HealthzData>): Promise<Reply<HealthzResponses[keyof HealthzResponses]>>;
  /**
   * Check whether the gateway can take calls: the store is reachable
   *
   * The reply counts the adapter instances by state (see `GET /adapters`). It is 200 even if an orchestrator is offline, so that the gateway stays in service. It is 503 while the store does not answer, and while a PostgreSQL takes no writes. `runs` counts the runs of all gateways that have not ended, by state. A suspended run holds up the schedule of its automation until people resume or cancel it. `store.lost` is there from the loss of commits until `POST /runs/release`. `runs` is absent while the store does not count them in time.
   *
   * Open to everyone, without credentials.
   */
  readyz(options?: CallOptions<ReadyzData>): Promise<Reply<ReadyzResponses[keyof ReadyzResponses]>>;
  /**
   * Metrics in the Prometheus text format
   *
   * For callers with one of the roles admin, readonly, apiread.
   */
  metrics(options?: CallOptions<MetricsData>): Promise<Reply<MetricsResponses[keyof MetricsResponses]>>;
  /**
   * Reload the configuration file, as SIGHUP does
   *
   * Reloads adapter instances, users, clients, issuers, outbound policy, rate limit, log level and TLS certificate: all of them or none. Calls in flight keep the configuration that they began with. Adapter instances with an unchanged configuration stay as they are.
   *
   * For the role admin.
   */
  reloadAdapters(options?: CallOptions<ReloadAdaptersData>): Promise<Reply<ReloadAdaptersResponses[keyof ReloadAdaptersResponses]>>;
  /**
   * This API as an OpenAPI 3.1 document
   *
   * Open to everyone, without credentials.
   */
  openapi(options?: CallOptions<OpenapiData>): Promise<Reply<OpenapiResponses[keyof OpenapiResponses]>>;
  /**
   * This API as a page for people
   *
   * For browsers: it leads to the API page of the console, which is open to everyone. A gateway without the console answers with a short page. `#error-CODE` is the anchor of an error on both.
   *
   * Open to everyone, without credentials.
   */
  docs(options?: CallOptions<DocsData>): Promise<Reply<DocsResponses[keyof DocsResponses]>>;
}

/** The operations whose lists have pages. */
export interface Pages {
  /** The entries of `listAutomations`. */
  listAutomations(options?: CallOptions<ListAutomationsData>): AsyncIterable<ListAutomationsResponses[200]['list'][number]>;
  /** The entries of `readAutomationHistory`. */
  readAutomationHistory(options: CallOptions<ReadAutomationHistoryData>): AsyncIterable<ReadAutomationHistoryResponses[200]['list'][number]>;
  /** The entries of `listWorkflows`. */
  listWorkflows(options?: CallOptions<ListWorkflowsData>): AsyncIterable<ListWorkflowsResponses[200]['list'][number]>;
  /** The entries of `listForms`. */
  listForms(options?: CallOptions<ListFormsData>): AsyncIterable<ListFormsResponses[200]['list'][number]>;
  /** The entries of `listRuns`. */
  listRuns(options?: CallOptions<ListRunsData>): AsyncIterable<ListRunsResponses[200]['list'][number]>;
  /** The entries of `listRunCalls`. */
  listRunCalls(options: CallOptions<ListRunCallsData>): AsyncIterable<ListRunCallsResponses[200]['list'][number]>;
  /** The entries of `listRunTasks`. */
  listRunTasks(options: CallOptions<ListRunTasksData>): AsyncIterable<ListRunTasksResponses[200]['list'][number]>;
  /** The entries of `listBatchItems`. */
  listBatchItems(options: CallOptions<ListBatchItemsData>): AsyncIterable<ListBatchItemsResponses[200]['list'][number]>;
  /** The entries of `listApprovals`. */
  listApprovals(options?: CallOptions<ListApprovalsData>): AsyncIterable<ListApprovalsResponses[200]['list'][number]>;
  /** The entries of `listNotifications`. */
  listNotifications(options?: CallOptions<ListNotificationsData>): AsyncIterable<ListNotificationsResponses[200]['list'][number]>;
  /** The entries of `listAudit`. */
  listAudit(options?: CallOptions<ListAuditData>): AsyncIterable<ListAuditResponses[200]['list'][number]>;
}
