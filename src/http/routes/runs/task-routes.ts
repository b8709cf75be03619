import type { FoundCommit } from '#adapters/commit-stamps.ts';
import { dryRunFormats, type Preview } from '#adapters/dry-runs.ts';
import { Type } from '#base/json-schema.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import type { TakePreview } from '#previews/preview.ts';
import type { RunCatalogue } from '#runs/catalogue/run-catalogue.ts';
import { itemListQuery, taskListQuery, writeTaskCursor } from '#runs/catalogue/run-listing.ts';
import { type ApiRoute, json, rawJson, route } from '../../route.ts';
import { jsonBody } from '../../route-body.ts';
import { formatIn, formatQuery, previewContext, previewFormatBody } from '../calls/preview-routes.ts';
import { cursorPage, listReply } from '../lists.ts';
import { catalogueChange, catalogueReading } from '../route-traits.ts';
import { exampleItem, exampleRun, exampleTask, itemSchema, runParams, taskSchema } from './run-schemas.ts';
import { itemText, shownTask } from './run-texts.ts';

export interface TaskRouteNeeds {
  readonly preview: TakePreview;
  /** Whether an orchestrator has the commit with this label. */
  readonly findCommit: (commit: { readonly adapter: string; readonly label: string }) => Promise<FoundCommit>;
}

/** The tasks of a run. The catalogue decides who sees them, and who sees what they got and gave. */
export function taskRoutes(runs: RunCatalogue, { preview, findCommit }: TaskRouteNeeds): readonly ApiRoute[] {
  return [
    listRunTasks.serve(async ({ query: { limit, cursor: after, ...filter }, principal, params, ...request }) => {
      const { list, next, isCut } = await runs.tasks({ principal, ...params, limit, after, filter });
      return listReply(
        request,
        { list: list.map(shownTask), cursor: next === undefined ? undefined : writeTaskCursor(next) },
        isCut,
      );
    }),
    readTask.serve(async ({ principal, params }) => json(200, shownTask(await runs.task({ principal, ...params })))),
    readTaskData.serve(async ({ principal, params }) => json(200, await runs.taskData({ principal, ...params }))),
    listBatchItems.serve(async ({ query: { limit, cursor: after, ...filter }, principal, params, reached }) => {
      const { list, next, isCut } = await runs.items({ principal, ...params, limit, after, filter });
      if (isCut === true) reached('page');
      const cursor = next === undefined ? '' : `,"cursor":${JSON.stringify(writeTaskCursor(next))}`;
      return rawJson(200, `{"list":[${list.map(itemText).join(',')}]${cursor}}`);
    }),
    previewTask.serve(async ({ principal: asker, params, record, context, sourceAddress, ...request }) => {
      const format = formatIn(request);
      const { call, principal, answerable, owner, via, commit } = await runs.undecidedCall({ principal: asker, ...params });
      record.note({ run: via.run });
      const rollback = commit && { rollback: shownCommit(commit.label, await findCommit(commit)) };
      if ('none' in call) return json(200, { kind: 'none', reason: call.none, ...rollback });
      const asked = {
        ...previewContext(context, sourceAddress),
        principal,
        asker,
        entrance: 'run',
        answerable,
        owner,
        via,
      } as const;
      return json(200, { ...explained(await preview(call, asked, format)), ...rollback });
    }),
  ];
}

/** What the orchestrator has already, it would not change again. */
function explained(preview: Preview): Preview & { readonly explanation?: typeof hasItAlready } {
  return preview.kind !== 'none' && preview.text.trim() === '' ? { ...preview, explanation: hasItAlready } : preview;
}

function shownCommit(label: string, commit: FoundCommit) {
  if ('unknown' in commit) return { label, explanation: `Whether NSO has a rollback file is not known: ${commit.unknown}` };
  return { label, found: commit.found, explanation: commit.text };
}

const hasItAlready = 'the orchestrator has it already';

const ofRun = { ...catalogueReading, tag: 'runs', params: runParams, errors: ['run-not-found'] } as const;
const params = { ...runParams, taskId: 'The id of the task.' };
const path = { id: exampleRun.id, taskId: exampleTask.id };

const listRunTasks = route('GET /runs/:id/tasks', {
  ...ofRun,
  operationId: 'listRunTasks',
  summary: 'List the tasks of a run in the order of their begin',
  description:
    'Each turn of a loop and each attempt of a task is an entry of its own. A task that is under way has no `end`. With a filter, a page may have fewer tasks than its limit, or none, and still a `cursor`.',
  query: taskListQuery,
  reply: cursorPage('RunTaskPage', taskSchema),
  example: { path: { id: exampleRun.id }, query: { limit: 50 }, reply: { list: [exampleTask] } },
});

const ofOne = { ...ofRun, params, errors: ['run-not-found', 'task-not-found'] } as const;

const readTask = route('GET /runs/:id/tasks/:taskId', {
  ...ofOne,
  operationId: 'readTask',
  summary: 'Read a task of a run',
  reply: { description: 'The entry of the list.', schema: taskSchema },
  example: { path, reply: exampleTask },
});

const part = (meaning: string) => Type.Optional(Type.String({ description: `JSON text: ${meaning}` }));

const readTaskData = route('GET /runs/:id/tasks/:taskId/data', {
  ...ofOne,
  operationId: 'readTaskData',
  summary: 'Read what a task got and gave',
  description:
    'For who started the run, the authors of its automation, those who may write its workflow, the role admin, and a right to this operation. `***` is in place of credentials: headers, members `password` and `authentication`, fields of a form with the format `password`, and secrets of the workflow.',
  reply: {
    description: 'Each part as JSON text, of at most 64 KiB.',
    schema: namedObject('TaskData', {
      input: part('the input, as `input.from` made it.'),
      arguments: part('of a task that calls or runs a workflow: its evaluated arguments.'),
      output: part('of a task that is completed: the output, as `output.as` made it.'),
      truncated: Type.Optional(
        Type.Array(Type.Enum(['input', 'arguments', 'output']), { description: 'Parts that were cut after a whole character.' }),
      ),
      noData: Type.Optional(
        Type.Enum(['off', 'limit', 'removed'], {
          description:
            'Why there is nothing, or not all: the document or the configuration says so (`off`), the run has more than 64 MiB (`limit`), or it made room for newer runs, or is of an earlier version (`removed`).',
        }),
      ),
    }),
  },
  errors: ['forbidden', ...ofOne.errors],
  example: {
    path,
    reply: {
      input: '{"device":"ce0"}',
      arguments: '{"adapter":"Local NSO","params":{"path":"restconf/operations/devices/check-sync","accept":"application/json"}}',
      output: '{"result":"in-sync"}',
    },
  },
});

const rollback = Type.Optional(
  namedObject('TaskRollback', {
    label: Type.String({ description: 'The label that the gateway gave the commit of the call (`adapters[].stamp`).' }),
    found: Type.Optional(
      Type.Boolean({ description: 'Whether the orchestrator has a rollback file with that label. Absent: it did not say so.' }),
    ),
    explanation: Type.String({ description: 'A sentence.' }),
  }),
);
const listBatchItems = route('GET /runs/:id/tasks/:taskId/items', {
  ...ofOne,
  operationId: 'listBatchItems',
  summary: 'List the items of a batch',
  description:
    'Of a task `call: batch`, each item by its index, and what became of it. For those who see the tasks of the run. With a filter, a page may have fewer items than its limit, or none, and still a `cursor`.',
  query: itemListQuery,
  reply: cursorPage('BatchItemPage', itemSchema),
  example: { path, query: { status: 'faulted' }, reply: { list: [exampleItem] } },
});

const previewTask = route('POST /runs/:id/tasks/:taskId/preview', {
  ...catalogueChange,
  tag: 'runs',
  operationId: 'previewTask',
  summary: 'Ask the orchestrator what a call with an unknown outcome would change now',
  description:
    'For those who may decide about the call. The preview is taken afresh, in the name of the run. It changes nothing at the orchestrator, and the rate limit of the caller counts it. An empty one means that the orchestrator has the change already. With `adapters[].stamp` the reply says whether there is a rollback file with the label of the call.',
  params,
  query: formatQuery,
  body: jsonBody(previewFormatBody, { optional: true }),
  reply: {
    description: 'The preview, or why there is none.',
    schema: Type.Union(
      [
        namedObject('TaskPreview', {
          kind: Type.Enum([...dryRunFormats]),
          text: Type.String({ description: 'The text of the orchestrator; empty where the call would change nothing.' }),
          explanation: Type.Optional(Type.Literal(hasItAlready)),
          rollback,
        }),
        namedObject('NoTaskPreview', {
          kind: Type.Literal('none'),
          reason: Type.String({ description: 'A sentence.' }),
          rollback,
        }),
      ],
      { title: 'PreviewOfTask' },
    ),
  },
  errors: ['forbidden', 'run-not-found', 'task-not-found', 'run-conflict', 'audit-unavailable'],
  example: { path, request: { format: 'cli' }, reply: { kind: 'cli', text: '', explanation: hasItAlready } },
});
