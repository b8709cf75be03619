import { adapterKindNames } from '#adapters/adapter-kind.ts';
import type { KnownAdapter, KnownAdapters } from '#adapters/known-adapters.ts';
import { Type } from '#base/json-schema.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import { type ApiRoute, json, route } from '../route.ts';
import { count, isoTime } from './lists.ts';
import { monitoring, operatorAction } from './route-traits.ts';

/** The state of the orchestrators, and a test of one of them, for operators. */
export function adapterRoutes({ adapters }: { readonly adapters: () => KnownAdapters }): readonly ApiRoute[] {
  return [
    listAdapters.serve(() => json(200, { list: adapters().all().map(reportOf) })),
    testAdapter.serve(
      async ({ params }) => {
        const { name, nodes } = adapters().find(params.adapterId);
        const urls = await Promise.all(nodes.map((node) => node.tryNow()));
        return json(200, { name, ok: urls.every(({ ok }) => ok), urls });
      },
      { precondition: ({ adapterId = '' }) => void adapters().find(adapterId) },
    ),
  ];
}

/** The changes of a reload; names only. */
interface Reloaded {
  readonly adapters: Readonly<Record<'added' | 'changed' | 'removed' | 'unchanged', readonly string[]>>;
  readonly settings: readonly string[];
  readonly restartNeeded: readonly string[];
}

/** `reload` rejects with `configuration-invalid` or `reload-unavailable`. */
export function reloadRoutes(
  reload: (asker: { readonly principal: string; readonly requestId: string }) => Promise<Reloaded>,
): readonly ApiRoute[] {
  return [
    reloadAdapters.serve(async ({ principal, record: { requestId } }) =>
      json(200, await reload({ principal: principal.username, requestId })),
    ),
  ];
}

function reportOf({ name, kind, nodes, settings, callers, standing }: KnownAdapter) {
  const { state, since: from, lastError: error } = standing();
  const { concurrency, queue, health, tls, proxy } = settings;
  return {
    name,
    kind: kind.name,
    state,
    since: isoTime(from),
    lastError: shownError(error),
    asCallers: callers && { probes: callers.hasService },
    urls: nodes.map((node) => {
      const { state, since: from, lastError: error, role } = node.standing();
      const { inFlight, waiting } = node.slots;
      const breaker = node.breaker.state;
      const people = node.namedPeople();
      const namedPeople = people.length === 0 ? undefined : people;
      const counts = { breaker, inFlight, waiting };
      return { url: node.url, state, since: isoTime(from), role, ...counts, namedPeople, lastError: shownError(error) };
    }),
    concurrency,
    queue,
    healthInterval: health === 'off' || callers?.hasService === false ? undefined : health.interval,
    verify: tls?.verify ?? true,
    proxy: proxy !== undefined,
  };
}

function shownError(error: { readonly code: string; readonly detail: string; readonly at: number } | undefined) {
  return error && { ...error, at: isoTime(error.at) };
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
  namedPeople: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'With `auth: caller`: people that the access rules of the orchestrator put into groups. They have these groups in every call. Take them out there.',
    }),
  ),
  lastError,
});

const adapterSchema = namedObject('Adapter', {
  name: Type.String(),
  kind: Type.Enum(adapterKindNames),
  state,
  since,
  lastError,
  asCallers: Type.Optional(
    namedObject('AdapterAsCallers', {
      probes: Type.Boolean({
        description:
          'False: without `auth.service` there are no probes, no previews and no stamps, and only calls show the state.',
      }),
    }),
  ),
  urls: Type.Array(urlSchema),
  concurrency: count,
  queue: count,
  healthInterval: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Milliseconds between probes; absent where probes are off.' }),
  ),
  verify: Type.Boolean({ description: '`false`: any certificate is accepted (tls.verify).' }),
  proxy: Type.Boolean({ description: 'Whether calls go through a proxy.' }),
});

const listAdapters = route('GET /adapters', {
  ...monitoring,
  tag: 'operations',
  operationId: 'listAdapters',
  summary: 'List the adapter instances with their state',
  description:
    'The state as this gateway knows it: each gateway learns it from its own calls and probes. `unknown`: never called nor probed. `degraded`: the credentials of the adapter instance are refused, a probe found another server or path than expected, or some of the addresses are offline. `offline`: all addresses are. `lastError` has the reason.',
  reply: {
    description: 'The adapter instances in the order of the configuration.',
    schema: namedObject('AdapterList', { list: Type.Array(adapterSchema) }),
  },
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
});

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

const testAdapter = route('POST /adapters/:adapterId/test', {
  ...operatorAction,
  tag: 'operations',
  operationId: 'testAdapter',
  summary: 'Test an adapter instance now',
  description:
    'Sends a health probe to every address, over a new connection and with the credentials of the adapter instance. The reply lists each step with its time, up to the first failure, and what was requested. For the kinds nso and restconf the test succeeds only if the server answers as RESTCONF does; the test takes ten seconds at most. The status is 200 even if a step failed: `ok` is then false.',
  params: { adapterId: 'Name of the adapter instance.' },
  reply: { description: 'The steps of the test and their results.', schema: trialSchema },
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
});

const names = (description: string) => Type.Array(Type.String(), { description });

const reloadAdapters = route('POST /adapters/reload', {
  ...operatorAction,
  tag: 'operations',
  operationId: 'reloadAdapters',
  summary: 'Reload the configuration file, as SIGHUP does',
  description:
    'Reloads adapter instances, users, clients, issuers, outbound policy, rate limit, log level and TLS certificate: all of them or none. Calls in flight keep the configuration that they began with. Adapter instances with an unchanged configuration stay as they are.',
  reply: {
    description: 'The new configuration is in force.',
    schema: namedObject('Reload', {
      adapters: namedObject('ReloadedAdapters', {
        added: names('New adapter instances.'),
        removed: names('Removed adapter instances.'),
        changed: names('Adapter instances with a changed configuration, which were created again.'),
        unchanged: names('Adapter instances with an unchanged configuration, which kept their connections, queue and standing.'),
      }),
      settings: names('Other keys with a changed value, which is now in force.'),
      restartNeeded: names('Keys that have changed since the start, and need a restart.'),
    }),
  },
  errors: ['configuration-invalid', 'reload-unavailable'],
  example: {
    reply: {
      adapters: { added: ['Lab NSO'], removed: [], changed: ['Local NSO'], unchanged: [] },
      settings: ['access.users', 'outbound.allow'],
      restartNeeded: ['server.port'],
    },
  },
});
