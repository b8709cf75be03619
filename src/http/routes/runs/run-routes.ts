import { writeTimeCursor } from '#base/text/query-parameters.ts';
import { shownCall } from '#runs/catalogue/run-calls.ts';
import type { RunCatalogue } from '#runs/catalogue/run-catalogue.ts';
import { callListQuery, runListQuery } from '#runs/catalogue/run-listing.ts';
import { type ApiRoute, rawJson, route } from '../../route.ts';
import { cursorPage, listReply } from '../lists.ts';
import { catalogueReading } from '../route-traits.ts';
import { eventRoutes } from './event-routes.ts';
import { runCommandRoutes } from './run-command-routes.ts';
import { callSchema, exampleCall, exampleListed, exampleRun, listedRunSchema, runParams, runSchema } from './run-schemas.ts';
import { listedRun, runText } from './run-texts.ts';
import { type TaskRouteNeeds, taskRoutes } from './task-routes.ts';

/** Runs of automations, and their events. The catalogue decides who sees and changes a run. `base`: in front of the path in `Location`. */
export function runRoutes(
  runs: RunCatalogue,
  { base, ...orchestrators }: { readonly base: string } & TaskRouteNeeds,
): readonly ApiRoute[] {
  return [
    listRuns.serve(async ({ query: { limit, cursor: after, principal: username, ...filter }, principal, ...request }) => {
      const { list, next, isCut } = await runs.list({ principal, filter: { ...filter, username }, page: { limit, after } });
      return listReply(request, { list: list.map(listedRun), cursor: next && writeTimeCursor(next) }, isCut);
    }),
    readRun.serve(async ({ principal, params }) => rawJson(200, runText(await runs.read({ principal, ...params })))),
    listRunCalls.serve(async ({ query: { cursor: after, ...query }, principal, params, ...request }) => {
      const { list, cursor, isCut } = await runs.calls({ principal, ...params, ...query, after });
      return listReply(request, { list: list.map(shownCall), cursor }, isCut);
    }),
    ...taskRoutes(runs, orchestrators),
    ...runCommandRoutes(runs, base),
    ...eventRoutes(runs),
  ];
}

const listRuns = route('GET /runs', {
  ...catalogueReading,
  tag: 'runs',
  operationId: 'listRuns',
  summary: 'List runs, the newest first',
  description:
    'The runs of the automations that the caller may see or run, and its own. A page may have fewer runs than its limit, or none, and still a `cursor`.',
  query: runListQuery,
  reply: cursorPage('RunPage', listedRunSchema),
  example: { query: { status: 'running', limit: 1 }, reply: { list: [exampleListed] } },
});

const ofOne = { ...catalogueReading, tag: 'runs', params: runParams, errors: ['run-not-found'] } as const;
const path = { id: exampleRun.id };

const readRun = route('GET /runs/:id', {
  ...ofOne,
  operationId: 'readRun',
  summary: 'Read a run: its state, input, output and error',
  reply: { description: 'The run as it is now.', schema: runSchema },
  example: { path, reply: exampleRun },
});

const listRunCalls = route('GET /runs/:id/calls', {
  ...ofOne,
  operationId: 'listRunCalls',
  summary: 'List the calls that the tasks of a run made, the oldest first',
  description:
    'From the audit log: the request as it left, and what came of it. A call that may change something is on record before it leaves, and without an `outcome` while it is in flight. Any other call is on record within a second after its end. Bodies are not kept. A page may have fewer calls than its limit, or none, and still a `cursor`: one request reads 20,000 records at most.',
  query: callListQuery,
  reply: cursorPage('RunCallPage', callSchema),
  example: { path, query: { task: '1' }, reply: { list: [exampleCall] } },
});
