import { involvements } from '#access/people.ts';
import { auditOutcomes } from '#audit/audit-entry.ts';
import { type JsonSchema, type ObjectOf, Type } from '#base/json-schema.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import { itemStatuses } from '#runs/catalogue/batch-items.ts';
import { runStatuses } from '#runs/catalogue/run-listing.ts';
import { suspensionReasons } from '#runs/interpreter/state/run-events.ts';
import { taskStatuses } from '#runs/journal/run-records.ts';
import { count, time } from '../lists.ts';

const text = Type.String();
const optionalText = Type.Optional(text);
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

const itemCounts = {
  ...namedObject('ItemCounts', {
    parallel: Type.Integer({ minimum: 1, description: 'So many at the same time, at most.' }),
    total: count,
    completed: count,
    failed: count,
    unknown: Type.Integer({ minimum: 0, description: 'People have to decide about one of their calls.' }),
    cancelled: count,
    notStarted: count,
  }),
  description: 'What became of the items of batches. Those that are not counted are under way.',
};

const runMembers = {
  id: text,
  automation: Type.Optional(Type.String({ description: '`_id` of the automation.' })),
  automationName: Type.Optional(Type.String({ description: 'The name that the automation had at the start of the run.' })),
  workflow: Type.String({ description: '`namespace.name` of the workflow.' }),
  version: Type.String({ description: 'The version of the workflow; a run keeps it to its end.' }),
  status: Type.Enum([...runStatuses]),
  suspendedBy: Type.Optional(
    Type.Enum([...suspensionReasons], {
      description:
        'Of a suspended run: `people` suspended it; people have to decide about a call (`unknown-outcome`); somebody who answers for its calls is gone or may not make them (`delegation-lost`); the one in whose name it calls is gone (`person-gone`); the store lost commits while it was under way (`store-loss`).',
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
  notBefore: Type.Optional(Type.String({ format: 'date-time', description: 'No call that may change something leaves before.' })),
  items: Type.Optional(itemCounts),
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

const wholeMembers = {
  ...runMembers,
  workflowDigest: Type.Optional(
    Type.String({ description: 'SHA-256 of the workflow document, hexadecimal: the run uses these bytes alone.' }),
  ),
  involved: involvedSchema,
  notStored: Type.Optional({
    ...namedObject('NotStored', { tasks: Type.Integer({ minimum: 1 }), events: Type.Integer({ minimum: 0 }) }),
    description: 'Completed tasks that only compute and their events, beyond the 20,000 that the timeline has.',
  }),
  input: Type.Unknown({ description: 'As it was given, with the digits of its numbers. Password fields of the form are `***`.' }),
  output: Type.Optional(Type.Unknown({ description: 'Of a run that is completed.' })),
};

export const runSchema = namedObject('Run', wholeMembers);

/** The reply to a repetition. */
export const repeatedRunSchema = namedObject('RepeatedRun', {
  ...wholeMembers,
  warnings: Type.Optional(
    Type.Array(Type.String(), { description: 'With `items`: what else runs again, and what is not repeated. Sentences.' }),
  ),
});

export const runParams = { id: 'The id of the run.' };

export const listedRunSchema: JsonSchema<ObjectOf<typeof runMembers>> = {
  ...namedObject('ListedRun', runMembers),
  description: 'A run without its `input` and `output`, which `GET /runs/:id` has.',
};

export const taskSchema = namedObject('RunTask', {
  id: Type.String({ description: 'Unique within the run; increases with `begin`.' }),
  reference: Type.String({ description: 'JSON pointer into the workflow document.' }),
  name: text,
  iteration: Type.Optional(Type.Integer({ minimum: 0, description: 'In a loop: which turn of it, from 0.' })),
  attempt: Type.Integer({ minimum: 1 }),
  status: Type.Enum([...taskStatuses]),
  begin: time,
  end: optionalTime,
  requestId: Type.Optional(Type.String({ description: 'Of the call that the task made, as in the audit log.' })),
  label: Type.Optional(Type.String({ description: 'In a loop: the value of `each` as text, at most 80 characters.' })),
  decisions: Type.Optional(
    Type.Array(
      namedObject('TaskDecision', {
        as: Type.Enum(['done', 'failed', 'again', 'granted', 'rejected', 'resumed']),
        principal: text,
        at: time,
        reason: text,
      }),
      { description: 'What people decided about the task, with their reasons, the oldest first.' },
    ),
  ),
  noData: Type.Optional(
    Type.Enum(['off', 'limit', 'removed'], {
      description: 'Why nothing, or not all, of what the task got and gave is kept; see readTaskData.',
    }),
  ),
  items: Type.Optional(itemCounts),
  error: Type.Optional(errorSchema),
});

export const itemSchema = namedObject('BatchItem', {
  index: Type.Integer({ minimum: 0, description: 'Its place in the `items` of the task, from 0.' }),
  run: Type.Optional(Type.String({ description: 'The run for it, once that has begun.' })),
  status: Type.Enum([...itemStatuses], {
    description: 'Of its run; `unknown` where people have to decide about a call of it; `notStarted` where it has no run.',
  }),
  item: Type.Unknown({ description: 'As the expression gave it, without credentials.' }),
  output: Type.Optional(Type.Unknown({ description: 'Of an item that is completed.' })),
  error: Type.Optional(Type.Unknown({ description: 'Of an item that failed.' })),
  truncated: Type.Optional(
    Type.Boolean({ description: '`output` or `error` has more than 4 KiB, and is a text with the beginning of its JSON.' }),
  ),
});

const optionalCount = Type.Optional(Type.Integer({ minimum: 0 }));

export const callSchema = namedObject('RunCall', {
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
  verb: Type.Optional(Type.String({ description: 'The method at the upstream.' })),
  address: Type.Optional(Type.String({ description: 'Address or path; the values of its query are masked.' })),
  redirects: Type.Optional(Type.Array(text)),
  approval: Type.Optional(
    Type.String({ description: 'The approval that the call asked for or used, which has the exact request.' }),
  ),
  replays: Type.Optional(Type.String({ description: 'The `requestId` of the request whose reply was replayed.' })),
  count: Type.Optional(Type.Integer({ minimum: 1, description: 'How many refusals this record counts.' })),
  attempts: Type.Optional(Type.Integer({ minimum: 0, description: 'At the upstream, including those of which nothing left.' })),
  upstreamStatus: optionalCount,
  status: optionalCount,
  code: optionalText,
  outcome: Type.Optional(Type.Enum([...auditOutcomes])),
  bytesSent: optionalCount,
  bytesReceived: optionalCount,
  durationMs: Type.Optional(Type.Number({ minimum: 0 })),
  detail: Type.Optional(Type.String({ description: 'Of a refusal: its sentence.' })),
});

export const exampleId = '019ab2c4-5f60-7d31-8a52-6c1f0e9b7d24';

export const exampleListed = {
  id: exampleId,
  automation: '65f0c2a1b4d3e2f1a0b9c8d7',
  automationName: 'Nightly check-sync',
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

export const exampleItem = {
  index: 7,
  run: `${exampleId}.2.1.7`,
  status: 'faulted',
  item: 'ce7',
  error: {
    type: 'https://serverlessworkflow.io/spec/1.0.0/errors/communication',
    status: 502,
    title: 'The upstream answered with 502',
  },
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
