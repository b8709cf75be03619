import { auditOutcomes } from '#audit/audit-entry.ts';
import type { Clock } from '#base/clock.ts';
import { Type } from '#base/json-schema.ts';
import { nameParameter, type QueryParameter, timeParameter, zoneParameter } from '#base/text/query-parameters.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import { invalidRequest } from '#json/forms/problem-list.ts';
import type { RunCatalogue } from '#runs/catalogue/run-catalogue.ts';
import type { StepSummary } from '#statistics/rollup.ts';
import type { Rollups } from '#statistics/rollups.ts';
import { localTime, readStepWidth, type StepWidth, type TimeStep, timeSteps } from '#statistics/time-steps.ts';
import { type ApiRoute, json, route } from '../route.ts';
import { catalogueReading } from './route-traits.ts';

interface StatisticsNeeds {
  readonly runs: Pick<RunCatalogue, 'statistics'>;
  readonly rollups: Pick<Rollups, 'summaries'>;
  readonly clock: Clock;
}

/** How many runs and calls ended, and how long they took. */
export function statisticsRoutes({ runs, rollups, clock }: StatisticsNeeds): readonly ApiRoute[] {
  return [
    readRunStatistics.serve(async ({ query, principal }) => {
      const steps = stepsOf(query, clock.now());
      return json(200, listed(steps, await runs.statistics(principal, steps), query));
    }),
    readCallStatistics.serve(async ({ query: { adapter, ...query } }) => {
      const steps = stepsOf(query, clock.now());
      const subjects = adapter === undefined ? undefined : [adapter];
      return json(200, listed(steps, await rollups.summaries({ kind: 'call', steps, subjects }), query));
    }),
  ];
}

interface StepQuery {
  readonly since: number | undefined;
  readonly until: number | undefined;
  readonly step: StepWidth;
  readonly timeZone: string;
}

const day = 86_400_000;

function stepsOf({ since: given, until: end, step: width, timeZone }: StepQuery, now: number): readonly TimeStep[] {
  const until = end ?? Math.max(now, given ?? now);
  const since = given ?? until - day;
  if (since > until) throw invalidRequest([{ pointer: '?since', detail: 'is after until' }]);
  const steps = timeSteps({ since, until, width, timeZone });
  if ('problem' in steps) throw invalidRequest([steps.problem]);
  return steps;
}

function listed(steps: readonly TimeStep[], summaries: readonly StepSummary[], { timeZone }: Pick<StepQuery, 'timeZone'>) {
  return {
    list: steps.map(({ start }, index) => ({ at: localTime(start, timeZone), ...(summaries[index] ?? { counts: {} }) })),
  };
}

const step: QueryParameter<StepWidth, StepWidth> = {
  description:
    'Length of a step: quarters of an hour, hours that divide a day, or days. Steps begin with the day of the time zone.',
  schema: Type.String({ default: '1h' }),
  parse: readStepWidth,
  wanted: 'a step such as 15m, 1h or 1d: a multiple of 15 minutes that divides a day, or up to 366 days',
  absent: { minutes: 60 },
};

const stepQuery = {
  since: timeParameter('From the step on that has this time (RFC 3339); by default 24 hours before `until`.'),
  until: timeParameter('To the step that has the moment before this time (RFC 3339); by default now.'),
  step,
  timeZone: zoneParameter('The time zone of the steps, a name of the IANA database.'),
};

const milliseconds = (description: string) => Type.Optional(Type.Number({ minimum: 0, description }));

const statisticsReply = (name: string, statuses: readonly string[]) => ({
  description:
    'Each whole step of the time, at most 400. A step in which none ended has `counts` without a member, and no times.',
  schema: namedObject(`${name}Statistics`, {
    list: Type.Array(
      namedObject(`${name}Step`, {
        at: Type.String({ format: 'date-time', description: 'When the step begins, with the offset of the time zone.' }),
        counts: namedObject(
          `${name}StepCounts`,
          Object.fromEntries(statuses.map((status) => [status, Type.Optional(Type.Integer({ minimum: 1 }))])),
        ),
        p50: milliseconds('Milliseconds that the shorter half took at most, within 10 %.'),
        p95: milliseconds('The same of 95 in 100.'),
        max: milliseconds('Milliseconds of the longest.'),
      }),
    ),
  }),
});

const exampleTimes = { p50: 412.6, p95: 1_850.1, max: 2_204 };
const example = (counts: Readonly<Record<string, number>>) => ({
  query: { since: '2026-03-28T23:00:00Z', until: '2026-03-30T22:00:00Z', step: '1d', timeZone: 'Europe/Berlin' },
  reply: {
    list: [
      { at: '2026-03-29T00:00:00.000+01:00', counts, ...exampleTimes },
      { at: '2026-03-30T00:00:00.000+02:00', counts: {} },
    ],
  },
});

const readRunStatistics = route('GET /statistics/runs', {
  ...catalogueReading,
  tag: 'runs',
  operationId: 'readRunStatistics',
  summary: 'Count the runs that ended, by time',
  description:
    'Of automations that the caller may see, without runs that other runs began; those of deleted automations are for admins alone. A run counts when it ends, with the time since its first task. Runs that ended before the gateway kept statistics are not counted, nor those that are older than `automations.retention`.',
  query: stepQuery,
  reply: statisticsReply('Run', ['completed', 'faulted', 'cancelled']),
  example: example({ completed: 96, faulted: 2 }),
});

const readCallStatistics = route('GET /statistics/calls', {
  ...catalogueReading,
  tag: 'operations',
  operationId: 'readCallStatistics',
  summary: 'Count the calls that ended, by time',
  description:
    'The calls of callers and of runs, by their `outcome` in the audit log, with the time that the gateway took for them. A call counts when its end is on record; one whose gateway was killed is not counted. Previews are no calls. Those that are older than `audit.retention` are not counted.',
  query: { ...stepQuery, adapter: nameParameter('Only calls to the adapter instance with this name.') },
  reply: statisticsReply('Call', auditOutcomes),
  example: example({ ok: 1204, refused: 3 }),
});
