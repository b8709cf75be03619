import { json, type Route } from '#http/route.ts';
import { invalidRequest } from '#json/problem-list.ts';
import { shownCall } from '#runs/run-calls.ts';
import type { RunCatalogue } from '#runs/run-catalogue.ts';
import { readCallListQuery, readRunListQuery, readTaskListQuery } from '#runs/run-list-query.ts';
import { eventRoutes } from './event-routes.ts';
import { catalogueReading } from './route-traits.ts';
import { runCommandRoutes } from './run-command-routes.ts';
import {
  callListParameters,
  callPageSchema,
  exampleCall,
  exampleListed,
  exampleRun,
  exampleTask,
  runListParameters,
  runPageSchema,
  runParameter,
  runSchema,
  taskListParameters,
  taskPageSchema,
} from './run-docs.ts';
import { askedRun, jsonReply, runPageText, runText, taskPageText } from './run-texts.ts';

/** Runs of automations, and their events. The catalogue decides who sees and changes a run. `base`: in front of the path in `Location`. */
export function runRoutes(runs: RunCatalogue, base: string): readonly Route[] {
  return [
    listRoute(runs),
    readRoute(runs),
    tasksRoute(runs),
    callsRoute(runs),
    ...runCommandRoutes(runs, base),
    ...eventRoutes(runs),
  ];
}

function listRoute(runs: RunCatalogue): Route {
  return {
    method: 'GET',
    url: '/runs',
    // readRunListQuery checks names and values together, so that one reply lists all problems.
    query: () => true,
    async handle({ query, context, count, reached }) {
      const read = readRunListQuery(query);
      if ('problems' in read) throw invalidRequest(read.problems);
      count();
      const page = await runs.list({ principal: context.record.principal, ...read.query });
      if (page.isCut === true) reached('page');
      return jsonReply(200, runPageText(page));
    },
    ...catalogueReading,
    counted: 'judged',
    docs: {
      tag: 'runs',
      operationId: 'listRuns',
      summary: 'List runs, the newest first',
      description:
        'The runs of the automations that the caller may see or run, and its own. A page may have fewer runs than its limit, or none, and still a `cursor`.',
      queryParameters: runListParameters,
      success: { status: 200, description: 'A page; `cursor` if there may be more.', schema: runPageSchema },
      errors: ['store-unavailable'],
      example: { query: { status: 'running', limit: 1 }, reply: { list: [exampleListed] } },
    },
  };
}

function readRoute(runs: RunCatalogue): Route {
  return {
    method: 'GET',
    url: '/runs/:id',
    handle: async (request) => jsonReply(200, runText(await runs.read(askedRun(request)))),
    ...catalogueReading,
    docs: {
      tag: 'runs',
      operationId: 'readRun',
      summary: 'Read a run: its state, input, output and error',
      pathParameters: runParameter,
      success: { status: 200, description: 'The run as it is now.', schema: runSchema },
      errors: ['run-not-found', 'store-unavailable'],
      example: { path: { id: exampleRun.id }, reply: exampleRun },
    },
  };
}

function tasksRoute(runs: RunCatalogue): Route {
  return {
    method: 'GET',
    url: '/runs/:id/tasks',
    query: () => true,
    async handle(request) {
      const read = readTaskListQuery(request.query);
      if ('problems' in read) throw invalidRequest(read.problems);
      request.count();
      const { limit, after } = read.query;
      const page = await runs.tasks({ ...askedRun(request), limit, after });
      if (page.isCut === true) request.reached('page');
      return jsonReply(200, taskPageText(page));
    },
    ...catalogueReading,
    counted: 'judged',
    docs: {
      tag: 'runs',
      operationId: 'listRunTasks',
      summary: 'List the tasks of a run in the order of their begin',
      description:
        'Each turn of a loop and each attempt of a task is an entry of its own. A task that is under way has no `end`.',
      pathParameters: runParameter,
      queryParameters: taskListParameters,
      success: { status: 200, description: 'A page; `cursor` if there are more.', schema: taskPageSchema },
      errors: ['run-not-found', 'store-unavailable'],
      example: { path: { id: exampleRun.id }, query: { limit: 50 }, reply: { list: [exampleTask] } },
    },
  };
}

function callsRoute(runs: RunCatalogue): Route {
  return {
    method: 'GET',
    url: '/runs/:id/calls',
    query: () => true,
    async handle(request) {
      const read = readCallListQuery(request.query);
      if ('problems' in read) throw invalidRequest(read.problems);
      request.count();
      const { list, cursor, isCut } = await runs.calls({ ...askedRun(request), ...read.query });
      if (isCut === true) request.reached('page');
      return json(200, { list: list.map(shownCall), cursor });
    },
    ...catalogueReading,
    counted: 'judged',
    docs: {
      tag: 'runs',
      operationId: 'listRunCalls',
      summary: 'List the calls that the tasks of a run made, the oldest first',
      description:
        'From the audit log: the request as it left, and what came of it. A call that may change something is on record before it leaves, and without an `outcome` while it is in flight. Any other call is on record within a second after its end. Bodies are not kept. A page may have fewer calls than its limit, or none, and still a `cursor`: one request reads 20,000 records at most.',
      pathParameters: runParameter,
      queryParameters: callListParameters,
      success: { status: 200, description: 'A page; `cursor` if there may be more.', schema: callPageSchema },
      errors: ['run-not-found', 'store-unavailable'],
      example: { path: { id: exampleRun.id }, query: { task: '1' }, reply: { list: [exampleCall] } },
    },
  };
}
