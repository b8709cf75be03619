import { involvements } from '#access/people.ts';
import { auditOutcomes } from '#audit/audit-entry.ts';
import { Type } from '#base/json-schema.ts';
import type { RouteDocs } from '#http/route.ts';
import { namedObject } from '#json/closed-object.ts';
import { suspensionReasons } from '#runs/interpreter/suspension.ts';
import { runPageSize, runStatuses } from '#runs/run-list-query.ts';

const text = Type.String();
const optionalText = Type.Optional(text);
const time = Type.String({ format: 'date-time' });
const optionalTime = Type.Optional(time);

const errorSchema = {
  ...namedObject('RunError', {
    type: Type.String({
      description: 'A type of the DSL, of the workflow, or `urn:orchestration-gateway:errors:outcome-unknown`.',
    }),
    status: Type.Integer(),
    title: optionalText,
    detail: optionalText,
    instance: Type.String({ description: 'JSON pointer into the workflow document: the task that the error comes from.' }),
  }),
  description: 'An error of the Serverless Workflow DSL.',
};

const runMembers = {
  id: text,
  automation: Type.Optional(Type.String({ description: '`_id` of the automation.' })),
  workflow: Type.String({ description: '`namespace.name` of the workflow.' }),
  version: Type.String({ description: 'The version of the workflow; a run keeps it to its end.' }),
  status: Type.Enum([...runStatuses]),
  suspendedBy: Type.Optional(
    Type.Enum([...suspensionReasons], {
      description:
        'Of a suspended run: `people` suspended it; people have to decide about a call (`unknown-outcome`); somebody who answers for its calls is gone or may not make them (`delegation-lost`); the one in whose name it calls is gone (`person-gone`).',
    }),
  ),
  error: Type.Optional(errorSchema),
  startedBy: namedObject('RunStart', {
    principal: Type.Optional(Type.String({ description: 'Who started the run.' })),
    schedule: Type.Optional(
      Type.String({
        description: 'The repeat interval or cron expression of the automation, or `once`, where its schedule did.',
      }),
    ),
    due: Type.Optional(Type.String({ format: 'date-time', description: 'The due time of the schedule.' })),
  }),
  parent: Type.Optional(
    namedObject('ParentTask', {
      run: Type.String({ description: 'The run that began this one.' }),
      task: Type.String({ description: 'The id of its task.' }),
    }),
  ),
  createdAt: time,
  startedAt: optionalTime,
  endedAt: optionalTime,
};

const involvedSchema = Type.Array(
  namedObject('InvolvedPrincipal', {
    principal: Type.String({ description: 'The name.' }),
    as: Type.Array(Type.Enum([...involvements]), { description: 'What the principal did.' }),
  }),
  { description: 'Everybody who has had a hand in the run up to now. None of them may approve its calls.' },
);

export const runSchema = namedObject('Run', {
  ...runMembers,
  workflowDigest: Type.Optional(
    Type.String({ description: 'SHA-256 of the workflow document, hexadecimal: the run uses these bytes alone.' }),
  ),
  involved: involvedSchema,
  notStored: Type.Optional({
    ...namedObject('NotStored', { tasks: Type.Integer({ minimum: 1 }), events: Type.Integer({ minimum: 0 }) }),
    description: 'Completed tasks that only compute and their events, beyond the 20,000 that the timeline has.',
  }),
  input: Type.Unknown({ description: 'As it was given, with the digits of its numbers.' }),
  output: Type.Optional(Type.Unknown({ description: 'Of a run that is completed.' })),
});

export const runPageSchema = namedObject('RunPage', {
  list: Type.Array({
    ...namedObject('ListedRun', runMembers),
    description: 'A run without its `input` and `output`, which `GET /runs/:id` has.',
  }),
  cursor: Type.Optional(Type.String({ description: 'There may be more runs: `cursor` of the next page.' })),
});

export const taskPageSchema = namedObject('RunTaskPage', {
  list: Type.Array(
    namedObject('RunTask', {
      id: Type.String({ description: 'Unique within the run; increases with `begin`.' }),
      reference: Type.String({ description: 'JSON pointer into the workflow document.' }),
      name: text,
      iteration: Type.Optional(Type.Integer({ minimum: 0, description: 'In a loop: which turn of it, from 0.' })),
      attempt: Type.Integer({ minimum: 1 }),
      status: Type.Enum(['pending', 'running', 'suspended', 'skipped', 'cancelled', 'faulted', 'completed']),
      begin: time,
      end: optionalTime,
      requestId: Type.Optional(Type.String({ description: 'Of the call that the task made, as in the audit log.' })),
      error: Type.Optional(errorSchema),
    }),
  ),
  cursor: Type.Optional(Type.String({ description: 'There are more tasks: `cursor` of the next page.' })),
});

const optionalCount = Type.Optional(Type.Integer({ minimum: 0 }));

export const callPageSchema = namedObject('RunCallPage', {
  list: Type.Array(
    namedObject('RunCall', {
      id: Type.String({ description: 'Of the record in the audit log.' }),
      time: Type.String({
        format: 'date-time',
        description: 'Of a call that may change something: before it left; of any other call: when it had ended.',
      }),
      requestId: optionalText,
      task: Type.Optional(
        Type.String({ description: 'The id of the task. The fetching of a document that the run needs has none.' }),
      ),
      route: Type.Optional(Type.String({ description: '`run` and the operation, such as `run restAction`.' })),
      adapter: Type.Optional(Type.String({ description: 'Absent for a call to an address.' })),
      verb: Type.Optional(Type.String({ description: 'The method at the far side.' })),
      address: Type.Optional(Type.String({ description: 'Address or path; the values of its query are masked.' })),
      redirects: Type.Optional(Type.Array(text)),
      approval: Type.Optional(
        Type.String({ description: 'The approval that the call asked for or used, which has the exact request.' }),
      ),
      replays: Type.Optional(Type.String({ description: 'The `requestId` of the request whose reply was replayed.' })),
      count: Type.Optional(Type.Integer({ minimum: 1, description: 'How many refusals this record counts.' })),
      attempts: Type.Optional(
        Type.Integer({ minimum: 0, description: 'At the far side, including those of which nothing left.' }),
      ),
      upstreamStatus: optionalCount,
      status: optionalCount,
      code: optionalText,
      outcome: Type.Optional(Type.Enum([...auditOutcomes])),
      bytesSent: optionalCount,
      bytesReceived: optionalCount,
      durationMs: Type.Optional(Type.Number({ minimum: 0 })),
      detail: Type.Optional(Type.String({ description: 'Of a refusal: its sentence.' })),
    }),
  ),
  cursor: Type.Optional(Type.String({ description: 'There may be more calls: `cursor` of the next page.' })),
});

export const startSchema = namedObject('RunRequest', {
  input: Type.Optional(
    Type.Object({}, { description: 'The input of the run; where absent, `data.input` of the automation, otherwise `{}`.' }),
  ),
  version: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'The version of the workflow, for those who may write the workflow; where absent, the newest release.',
    }),
  ),
});

export const rerunSchema = namedObject('RerunRequest', {
  input: Type.Optional(Type.Object({}, { description: 'The input of the new run; where absent, that of the repeated one.' })),
  version: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'The version of the workflow, for those who may write the workflow; where absent, that of the repeated run.',
    }),
  ),
});

/** Of `resume`: nothing, or the decision about a call. */
const decisionMembers = {
  task: Type.String({
    minLength: 1,
    description: 'The id of the task, or its reference where only one call of it is undecided.',
  }),
  as: Type.Enum(['done', 'failed', 'again'], {
    description: '`done`: the call happened. `failed`: it did not, and the task fails. `again`: it is made again.',
  }),
  reason: Type.String({ minLength: 1, maxLength: 2_000, description: 'Why it is so.' }),
};
const decidedOutput = Type.Optional(Type.Unknown({ description: 'With `done`: the output of the call, by default null.' }));

export const runDecisionSchema = namedObject('RunDecision', { ...decisionMembers, output: decidedOutput });

export const resumeSchema = namedObject('RunResumption', {
  task: Type.Optional(decisionMembers.task),
  as: Type.Optional(decisionMembers.as),
  output: decidedOutput,
  reason: Type.Optional(decisionMembers.reason),
});

export const runParameter = { id: 'The id of the run.' };

const limitParameter = {
  name: 'limit',
  description: 'Size of the page.',
  schema: Type.Integer({ minimum: 1, maximum: runPageSize.most, default: runPageSize.usual }),
};
const cursorParameter = { name: 'cursor', description: '`cursor` of the previous page, unchanged.', schema: text };

export const runListParameters: NonNullable<RouteDocs['queryParameters']> = [
  { name: 'automation', description: 'Only runs of the automation with this `_id`.', schema: text },
  { name: 'workflow', description: 'Only runs of the workflow with this id.', schema: text },
  { name: 'status', description: 'Only runs with this status.', schema: Type.Enum([...runStatuses]) },
  { name: 'principal', description: 'Only runs that belong to the principal with this name.', schema: text },
  { name: 'since', description: 'Only runs that were created at this time or later (RFC 3339).', schema: time },
  { name: 'until', description: 'Only runs that were created before this time (RFC 3339).', schema: time },
  limitParameter,
  { ...cursorParameter, description: '`cursor` of the previous page, unchanged; the filters must stay the same.' },
];

export const taskListParameters: NonNullable<RouteDocs['queryParameters']> = [limitParameter, cursorParameter];

export const callListParameters: NonNullable<RouteDocs['queryParameters']> = [
  { name: 'task', description: 'Only calls of the task with this id.', schema: text },
  limitParameter,
  { ...cursorParameter, description: '`cursor` of the previous page, unchanged; the task must stay the same.' },
];

export const runKeyHeader = {
  name: 'Idempotency-Key',
  description:
    '1 to 255 visible ASCII characters. A request of the same caller for the same automation with the same key and input gets the run that the first one started, as long as the gateway keeps that run.',
};

export const startedHeaders = {
  Location: 'Address of the run: its path, under `server.publicUrl` where that is set.',
  'Idempotency-Replayed': '`true`: an earlier request with this Idempotency-Key started the run.',
};

/** What every change of a run can answer. */
export const changeErrors: RouteDocs['errors'] = ['forbidden', 'run-not-found', 'run-conflict', 'store-unavailable'];

const exampleId = '019ab2c4-5f60-7d31-8a52-6c1f0e9b7d24';

export const exampleListed = {
  id: exampleId,
  automation: '65f0c2a1b4d3e2f1a0b9c8d7',
  workflow: 'lab.sync',
  version: '1.0.0',
  status: 'running',
  startedBy: { principal: 'admin' },
  createdAt: '2026-03-01T22:00:00.000Z',
  startedAt: '2026-03-01T22:00:00.012Z',
};

const { startedAt: _begun, ...exampleCreated } = exampleListed;

/** What only one run alone has. */
const exampleWhole = {
  workflowDigest: '6f1c6c3f6dc3f3c86ef9aa0d41d7a4a2f3cf0a5b0a4f5d5f8f7f0f9d3b0c2a19',
  input: { device: 'ce0' },
  involved: [
    { principal: 'admin', as: ['starter'] },
    { principal: 'kim', as: ['workflow'] },
  ],
};

/** A run as the reply to its start has it. */
export const exampleStarted = { ...exampleCreated, status: 'pending', ...exampleWhole };

export const exampleRun = { ...exampleListed, ...exampleWhole };

export const exampleTask = {
  id: '1',
  reference: '/do/0/check',
  name: 'check',
  attempt: 1,
  status: 'completed',
  begin: '2026-03-01T22:00:00.014Z',
  end: '2026-03-01T22:00:00.226Z',
  requestId: '5c1d4f7a9b3e4d20a6f18c7e2b0d9f43',
};

export const exampleCall = {
  id: 'mi5c2k1q-5f0c9be31a42/7',
  time: '2026-03-01T22:00:00.016Z',
  requestId: exampleTask.requestId,
  task: exampleTask.id,
  route: 'run restAction',
  adapter: 'Local NSO',
  verb: 'POST',
  address: 'restconf/operations/devices/check-sync',
  attempts: 1,
  upstreamStatus: 200,
  status: 200,
  outcome: 'ok',
  bytesSent: 0,
  bytesReceived: 41,
  durationMs: 208.31,
};

export const exampleStream = [
  'id: 41',
  'event: io.serverlessworkflow.workflow.started.v1',
  `data: {"specversion":"1.0","id":"6f0d8c1e-2b7a-4d53-9e44-1c8a7b6f5d20","source":"/runs/${exampleId}","type":"io.serverlessworkflow.workflow.started.v1","time":"2026-03-01T22:00:00.012Z","subject":"lab.sync","datacontenttype":"application/json","data":{"name":"sync-${exampleId}.lab","startedAt":"2026-03-01T22:00:00.012Z"}}`,
].join('\n');
