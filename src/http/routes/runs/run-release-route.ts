import { Type } from '#base/json-schema.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import { type ApiRoute, json, route } from '../../route.ts';
import { jsonBody } from '../../route-body.ts';
import { operatorAction } from '../route-traits.ts';

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
