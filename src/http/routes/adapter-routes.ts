import type { KnownAdapter, KnownAdapters } from '#adapters/known-adapters.ts';
import { Type } from '#base/json-schema.ts';
import { json, type Route } from '#http/route.ts';
import { namedObject } from '#json/closed-object.ts';
import { monitoring, operatorAction } from './route-traits.ts';

interface AdapterRoutesOptions {
  readonly adapters: () => KnownAdapters;
}

/** The state of the orchestrators, and a test of one of them, for operators. */
export function adapterRoutes(options: AdapterRoutesOptions): readonly Route[] {
  return [listRoute(options), trialRoute(options)];
}

const timestamp = Type.String({ format: 'date-time' });
const lastError = Type.Optional(
  namedObject('AdapterError', {
    code: Type.String({ description: 'A code of the error table.' }),
    detail: Type.String(),
    at: timestamp,
  }),
);
const since = Type.String({ format: 'date-time', description: 'When this state began.' });
const state = Type.Enum(['unknown', 'online', 'degraded', 'offline'], {
  description:
    'Of an address: `unknown` before its first call or probe; `degraded` if it answers, but refuses the credentials, or answers a probe with another resource. An adapter instance is also `degraded` if some of its addresses are offline.',
});
const count = Type.Integer({ minimum: 0 });

const urlSchema = namedObject('AdapterUrl', {
  url: Type.String(),
  state,
  since,
  role: Type.Optional(
    Type.Enum(['primary', 'secondary', 'read-only'], {
      description: 'Absent until a probe has found it. `read-only`: a primary that takes no changes now.',
    }),
  ),
  breaker: Type.Enum(['closed', 'open', 'half-open']),
  inFlight: count,
  waiting: count,
  lastError,
});

const adapterSchema = namedObject('Adapter', {
  name: Type.String(),
  kind: Type.Enum(['nso', 'restconf', 'rest']),
  state,
  since,
  lastError,
  urls: Type.Array(urlSchema),
  concurrency: count,
  queue: count,
  healthInterval: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Milliseconds between probes; absent where probes are off.' }),
  ),
  verify: Type.Boolean({ description: '`false`: any certificate is accepted (tls.verify).' }),
  proxy: Type.Boolean({ description: 'Whether calls go through a proxy.' }),
});

function listRoute({ adapters }: AdapterRoutesOptions): Route {
  return {
    method: 'GET',
    url: '/adapters',
    handle: () => json(200, { list: adapters().all().map(reportOf) }),
    ...monitoring,
    docs: {
      tag: 'operations',
      operationId: 'listAdapters',
      summary: 'List the adapter instances with their state',
      description:
        'The state as this gateway knows it: each gateway learns it from its own calls and probes. `unknown`: never called nor probed. `degraded`: the credentials of the adapter instance are refused, a probe found another server or path than expected, or some of the addresses are offline. `offline`: all addresses are. `lastError` has the reason.',
      success: {
        status: 200,
        description: 'The adapter instances in the order of the configuration.',
        schema: namedObject('AdapterList', { list: Type.Array(adapterSchema) }),
      },
      errors: [],
      example: {
        reply: {
          list: [
            {
              name: 'Local NSO',
              kind: 'nso',
              state: 'online',
              since: '2026-03-02T08:00:00.000Z',
              urls: [
                {
                  url: 'https://nso.example.net:8888',
                  state: 'online',
                  since: '2026-03-02T08:00:00.000Z',
                  role: 'primary',
                  breaker: 'closed',
                  inFlight: 1,
                  waiting: 0,
                },
              ],
              concurrency: 16,
              queue: 1000,
              healthInterval: 30_000,
              verify: true,
              proxy: false,
            },
          ],
        },
      },
    },
  };
}

function reportOf(adapter: KnownAdapter): object {
  const { name, kind, nodes, settings } = adapter;
  const { state, since: from, lastError: error } = adapter.standing();
  return {
    name,
    kind: kind.name,
    state,
    since: iso(from),
    ...reported(error),
    urls: nodes.map((node) => {
      const { lastError: errorOfNode, role, ...rest } = node.standing();
      return {
        url: node.url,
        state: rest.state,
        since: iso(rest.since),
        ...(role === undefined ? {} : { role }),
        breaker: node.breaker.state,
        inFlight: node.slots.inFlight,
        waiting: node.slots.waiting,
        ...reported(errorOfNode),
      };
    }),
    concurrency: settings.concurrency,
    queue: settings.queue,
    ...(settings.health === 'off' ? {} : { healthInterval: settings.health.interval }),
    verify: settings.tls?.verify ?? true,
    proxy: settings.proxy !== undefined,
  };
}

function reported(error: { readonly code: string; readonly detail: string; readonly at: number } | undefined): object {
  return error === undefined ? {} : { lastError: { ...error, at: iso(error.at) } };
}

function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

const trialSchema = namedObject('AdapterTest', {
  name: Type.String(),
  ok: Type.Boolean(),
  urls: Type.Array(
    namedObject('AdapterUrlTest', {
      url: Type.String(),
      ok: Type.Boolean(),
      steps: Type.Array(
        namedObject('AdapterTestStep', {
          step: Type.Enum(['dns', 'connect', 'proxy', 'tls', 'answer', 'authentication']),
          ok: Type.Boolean(),
          milliseconds: Type.Number({ minimum: 0 }),
          detail: Type.Optional(Type.String({ description: 'The finding; for a failed step its cause.' })),
        }),
      ),
    }),
  ),
});

function trialRoute({ adapters }: AdapterRoutesOptions): Route {
  const adapterOf = (params: Readonly<Record<string, string>>): KnownAdapter => adapters().find(params['adapterId'] ?? '');
  return {
    method: 'POST',
    url: '/adapters/:adapterId/test',
    precondition: (params) => void adapterOf(params),
    async handle({ params }) {
      const { name, nodes } = adapterOf(params);
      const urls = await Promise.all(nodes.map((node) => node.tryNow()));
      return json(200, { name, ok: urls.every(({ ok }) => ok), urls });
    },
    ...operatorAction,
    docs: {
      tag: 'operations',
      operationId: 'testAdapter',
      summary: 'Test an adapter instance now',
      description:
        'Sends a health probe to every address, over a new connection and with the credentials of the adapter instance. The reply lists each step with its time, up to the first failure, and what was requested. For the kinds nso and restconf the test succeeds only if the server answers as RESTCONF does; the test takes ten seconds at most. The status is 200 even if a step failed: `ok` is then false.',
      pathParameters: { adapterId: 'Name of the adapter instance.' },
      success: {
        status: 200,
        description: 'The steps of the test and their results.',
        schema: trialSchema,
      },
      errors: ['adapter-not-found'],
      example: {
        path: { adapterId: 'Local NSO' },
        reply: {
          name: 'Local NSO',
          ok: false,
          urls: [
            {
              url: 'https://nso.example.net:8888',
              ok: false,
              steps: [
                { step: 'dns', ok: true, milliseconds: 1.3 },
                {
                  step: 'connect',
                  ok: false,
                  milliseconds: 0.9,
                  detail: 'No connection: 192.0.2.7:8888 refused the connection (ECONNREFUSED).',
                },
              ],
            },
          ],
        },
      },
    },
  };
}
