import type { AdapterState } from '#adapters/nodes/node-standing.ts';
import { Type } from '#base/json-schema.ts';
import type { KeptFigures } from '#base/timing/kept-figures.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import type { RunCounts } from '#runs/journal/run-queries.ts';
import { type ApiRoute, json, route } from '../route.ts';
import { count } from './lists.ts';
import { monitoring } from './route-traits.ts';

interface OperationsRoutesOptions {
  readonly openMetrics: boolean;
  readonly metrics: { readonly mediaType: string; text(): Promise<string> };
  /** Rejects where the store cannot be reached. */
  readonly pingStore: () => Promise<void>;
  /** True while calls get 503 `overloaded`. */
  readonly isOverloaded: () => boolean;
  /** True while less is free on the disk of the store than the reserve. */
  readonly isShort: () => boolean;
  /** What people have not released of what the store lost. `at`: milliseconds since the epoch. */
  readonly lost: () => { readonly at: number; readonly records: number } | undefined;
  /** `age`: seconds of the oldest value of a secret whose source fails. */
  readonly secrets: () => { readonly failing: number; readonly age: number };
  readonly adapterStates: () => readonly AdapterState[];
  readonly runFigures: KeptFigures<RunCounts>;
}

/** For load balancers and monitoring. */
export function operationsRoutes(options: OperationsRoutesOptions): readonly ApiRoute[] {
  const { metrics: registry, openMetrics } = options;
  return [
    healthz.serve(() => json(200, { status: 'ok', degraded: options.isOverloaded() })),
    readyz.serve(async () => {
      await options.pingStore();
      const states = options.adapterStates();
      const inState = (state: AdapterState): number => states.filter((other) => other === state).length;
      return json(200, {
        status: 'ready',
        adapters: {
          unknown: inState('unknown'),
          online: inState('online'),
          degraded: inState('degraded'),
          offline: inState('offline'),
        },
        store: { reserve: options.isShort(), lost: lostOf(options.lost()) },
        secrets: options.secrets(),
        runs: runsOf(await options.runFigures()),
      });
    }),
    metrics.serve(async () => ({ kind: 'plain', status: 200, mediaType: registry.mediaType, body: await registry.text() }), {
      open: openMetrics,
    }),
  ];
}

function lostOf(lost: ReturnType<OperationsRoutesOptions['lost']>) {
  return lost && { at: new Date(lost.at).toISOString(), records: lost.records };
}

function runsOf(counts: RunCounts | undefined) {
  if (counts === undefined) return undefined;
  const { byStatus, lateness } = counts;
  const inState = (status: 'pending' | 'running' | 'waiting' | 'suspended'): number => byStatus.get(status) ?? 0;
  return {
    pending: inState('pending'),
    running: inState('running'),
    waiting: inState('waiting'),
    suspended: inState('suspended'),
    latenessMs: Math.round(lateness),
  };
}

const healthz = route('GET /healthz', {
  ...monitoring,
  tag: 'operations',
  operationId: 'healthz',
  summary: 'Check whether the process is alive',
  reply: {
    description: 'The process is alive.',
    schema: namedObject('Health', {
      status: Type.Literal('ok'),
      degraded: Type.Boolean({ description: 'True while calls and logins get 503 `overloaded`.' }),
    }),
  },
  example: { reply: { status: 'ok', degraded: false } },
});

const readinessSchema = namedObject('Readiness', {
  status: Type.Literal('ready'),
  adapters: namedObject('AdapterCounts', { unknown: count, online: count, degraded: count, offline: count }),
  store: namedObject('StoreReadiness', {
    reserve: Type.Boolean({
      description: 'True while the disk of a SQLite store is nearly full: runs, events and new approvals wait.',
    }),
    lost: Type.Optional(
      namedObject('StoreLoss', {
        at: Type.String({ format: 'date-time', description: 'When a gateway noticed it last.' }),
        records: Type.Integer({ minimum: 0, description: 'How many records of the audit log are lost.' }),
      }),
    ),
  }),
  secrets: namedObject('SecretReadiness', {
    failing: Type.Integer({ minimum: 0, description: 'Sources of secrets that fail; their last good values stay in use.' }),
    age: Type.Integer({ minimum: 0, description: 'Age in seconds of the oldest of these values; 0 while no source fails.' }),
  }),
  runs: Type.Optional(
    namedObject('RunCounts', {
      pending: count,
      running: count,
      waiting: count,
      suspended: count,
      latenessMs: Type.Integer({
        minimum: 0,
        description: 'How long the run has waited that waits longest for a gateway, in milliseconds.',
      }),
    }),
  ),
});

const readyz = route('GET /readyz', {
  ...monitoring,
  tag: 'operations',
  operationId: 'readyz',
  summary: 'Check whether the gateway can take calls: the store is reachable',
  description:
    'The reply counts the adapter instances by state (see `GET /adapters`). It is 200 even if an orchestrator is offline, so that the gateway stays in service. It is 503 while the store does not answer, and while a PostgreSQL takes no writes. `runs` counts the runs of all gateways that have not ended, by state. A suspended run holds up the schedule of its automation until people resume or cancel it. `store.lost` is there from the loss of commits until `POST /runs/release`. `runs` is absent while the store does not count them in time.',
  reply: { description: 'The gateway can take calls.', schema: readinessSchema },
  errors: ['store-unavailable'],
  example: {
    reply: {
      status: 'ready',
      adapters: { unknown: 0, online: 1, degraded: 0, offline: 0 },
      store: { reserve: false },
      secrets: { failing: 0, age: 0 },
      runs: { pending: 0, running: 2, waiting: 5, suspended: 1, latenessMs: 0 },
    },
  },
});

const metrics = route('GET /metrics', {
  ...monitoring,
  tag: 'operations',
  operationId: 'metrics',
  summary: 'Metrics in the Prometheus text format',
  reply: { description: 'The metrics.', mediaType: 'text/plain', schema: Type.String() },
  example: { reply: '# TYPE gateway_requests_total counter' },
});
