import { Type } from '#base/json-schema.ts';
import { writeTimeCursor } from '#base/text/query-parameters.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import { shownCall } from '#runs/catalogue/run-calls.ts';
import type { RunCatalogue } from '#runs/catalogue/run-catalogue.ts';
import { callListQuery, runListQuery } from '#runs/catalogue/run-listing.ts';
import { type ApiRoute, json, rawJson, route } from '../../route.ts';
import { jsonBody } from '../../route-body.ts';
import { cursorPage, listReply } from '../lists.ts';
import { catalogueReading, operatorAction } from '../route-traits.ts';
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

const releaseRuns = route('POST /runs/release', {
  ...operatorAction,
  tag: 'runs',
  operationId: 'releaseRuns',
  summary: 'Let runs go on that were under way when the store lost commits',
  description:
    'After an asynchronous failover PostgreSQL may have less than it acknowledged. The gateway that notices it suspends every run that is under way (`suspendedBy` is `store-loss`). Look at the upstreams first. Of each run, the first call that may change something and has no outcome on record is not made: its outcome is unknown, and people decide about it.',
  body: jsonBody(
    namedObject('RunsRelease', {
      reason: Type.String({ minLength: 1, maxLength: 2_000, description: 'Why the runs may go on. It goes on record.' }),
    }),
  ),
  reply: {
    description: 'The runs go on.',
    schema: namedObject('ReleasedRuns', {
      released: Type.Integer({ minimum: 0, description: 'How many runs were held.' }),
    }),
  },
  example: { request: { reason: 'The devices were compared with the log of changes.' }, reply: { released: 12 } },
});

/** Lets runs go on that were under way when the store lost commits. `release` answers how many. */
export function runReleaseRoute(release: () => Promise<number>): ApiRoute {
  return releaseRuns.serve(async ({ body: { reason }, record }) => {
    record.note({ reason });
    return json(200, { released: await release() });
  });
}
