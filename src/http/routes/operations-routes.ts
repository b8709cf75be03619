import type { AdapterState } from '#adapters/adapter-standing.ts';
import { Type } from '#base/json-schema.ts';
import { json, type Route } from '#http/route.ts';
import { namedObject } from '#json/closed-object.ts';
import type { RunFigures } from '#runs/run-figures.ts';
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
  readonly adapterStates: () => readonly AdapterState[];
  readonly runFigures: RunFigures;
}

const count = Type.Integer({ minimum: 0 });

/** For load balancers and monitoring. */
export function operationsRoutes(options: OperationsRoutesOptions): readonly Route[] {
  return [healthRoute(options), readinessRoute(options), metricsRoute(options)];
}

function healthRoute(options: OperationsRoutesOptions): Route {
  return {
    method: 'GET',
    url: '/healthz',
    handle: () => json(200, { status: 'ok', degraded: options.isOverloaded() }),
    ...monitoring,
    docs: {
      tag: 'operations',
      operationId: 'healthz',
      summary: 'Check whether the process is alive',
      success: {
        status: 200,
        description: 'The process is alive.',
        schema: namedObject('Health', {
          status: Type.Literal('ok'),
          degraded: Type.Boolean({ description: 'True while calls and logins get 503 `overloaded`.' }),
        }),
      },
      errors: [],
      example: { reply: { status: 'ok', degraded: false } },
    },
  };
}

const readinessSchema = namedObject('Readiness', {
  status: Type.Literal('ready'),
  adapters: namedObject('AdapterCounts', { unknown: count, online: count, degraded: count, offline: count }),
  store: namedObject('StoreReadiness', {
    reserve: Type.Boolean({
      description: 'True while the disk of a SQLite store is nearly full: runs, events and new approvals wait.',
    }),
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

function readinessRoute(options: OperationsRoutesOptions): Route {
  return {
    method: 'GET',
    url: '/readyz',
    async handle() {
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
        store: { reserve: options.isShort() },
        ...runsOf(await options.runFigures()),
      });
    },
    ...monitoring,
    docs: {
      tag: 'operations',
      operationId: 'readyz',
      summary: 'Check whether the gateway can take calls: the store is reachable',
      description:
        'The reply counts the adapter instances by state (see `GET /adapters`). It is 200 even if an orchestrator is offline, so that the gateway stays in service. `runs` counts the runs of all gateways that have not ended, by state. A suspended run holds up the schedule of its automation until people resume or cancel it. `runs` is absent while the store does not count them in time.',
      success: {
        status: 200,
        description: 'The gateway can take calls.',
        schema: readinessSchema,
      },
      errors: ['store-unavailable'],
      example: {
        reply: {
          status: 'ready',
          adapters: { unknown: 0, online: 1, degraded: 0, offline: 0 },
          store: { reserve: false },
          runs: { pending: 0, running: 2, waiting: 5, suspended: 1, latenessMs: 0 },
        },
      },
    },
  };
}

function runsOf(counts: Awaited<ReturnType<RunFigures>>): object {
  if (counts === undefined) return {};
  const { byStatus, lateness } = counts;
  const inState = (status: 'pending' | 'running' | 'waiting' | 'suspended'): number => byStatus.get(status) ?? 0;
  return {
    runs: {
      pending: inState('pending'),
      running: inState('running'),
      waiting: inState('waiting'),
      suspended: inState('suspended'),
      latenessMs: Math.round(lateness),
    },
  };
}

function metricsRoute(options: OperationsRoutesOptions): Route {
  return {
    method: 'GET',
    url: '/metrics',
    open: options.openMetrics,
    async handle() {
      return { kind: 'plain', status: 200, mediaType: options.metrics.mediaType, body: await options.metrics.text() };
    },
    ...monitoring,
    docs: {
      tag: 'operations',
      operationId: 'metrics',
      summary: 'Metrics in the Prometheus text format',
      success: { status: 200, description: 'The metrics.', mediaType: 'text/plain', schema: Type.String() },
      errors: [],
      example: { reply: '# TYPE gateway_requests_total counter' },
    },
  };
}
