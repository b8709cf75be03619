import { adapterKindMeanings, adapterKindNames } from '#adapters/adapter-kind.ts';
import { adapterKinds } from '#adapters/adapter-kinds.ts';
import type { OwnAuthentication } from '#adapters/credentials/credentials.ts';
import { namedInterface } from '#adapters/paths/path-rights.ts';
import { hostName, httpUrl } from '../shapes/address-shapes.ts';
import { basicUsername, proxy, timeouts, tlsFiles } from '../shapes/dialling-shapes.ts';
import { certificateWithKey, clientTls } from '../shapes/pem-shapes.ts';
import { itemsIn, memberOf, memberPath, report, scalarOf, warn } from '../shapes/place.ts';
import { choice, duration, flag, headerNameFault, integer, label, pathGlobs, size } from '../shapes/scalar-shapes.ts';
import { basicPasswordFault, bearerTokenFault, headerValueFault, secret } from '../shapes/secret-shape.ts';
import {
  type Check,
  defaulted,
  list,
  mapped,
  mapping,
  optional,
  required,
  type Shape,
  unique,
  uniqueList,
  variants,
} from '../shapes/shape.ts';
import { callerShape, callersAreSafe, settleCaller } from './caller-auth.ts';

/** Already sent: a credential would repeat one. */
const callHeaders = new Set([
  'accept',
  'content-type',
  'if-match',
  'if-unmodified-since',
  'traceparent',
  'tracestate',
  'user-agent',
  'x-cisco-nso-commit-params',
]);

const headerName = label({
  type: 'header name',
  example: 'X-Api-Key',
  refuse: (value) => headerNameFault(value, callHeaders),
});

const typeMeaning = 'How the gateway authenticates to the orchestrator.';

const own = {
  none: mapping({ type: required(choice('none'), typeMeaning) }),
  basic: mapping({
    type: required(choice('basic'), typeMeaning),
    username: required(basicUsername('gateway'), 'User name of HTTP Basic.'),
    password: required(secret({ refuse: basicPasswordFault }), 'Password of HTTP Basic.'),
  }),
  bearer: mapping({
    type: required(choice('bearer'), typeMeaning),
    token: required(secret({ refuse: bearerTokenFault }), 'Sent as `Authorization: Bearer`.'),
  }),
  header: mapping({
    type: required(choice('header'), typeMeaning),
    name: required(headerName, 'Name of the header.'),
    value: required(secret({ refuse: headerValueFault }), 'Value of the header.'),
  }),
  token: mapping({
    type: required(choice('token'), typeMeaning),
    token: required(secret({ refuse: headerValueFault }), 'First value of `X-Auth-Token`; replies of the orchestrator renew it.'),
  }),
  oauth2: mapping({
    type: required(choice('oauth2'), typeMeaning),
    tokenUrl: required(
      httpUrl({ example: 'https://login.example.net/token', path: true, query: true }),
      'Token endpoint, for the client credentials grant.',
    ),
    clientId: required(label({ type: 'client id', example: 'gateway' }), 'Client id at the token endpoint.'),
    clientSecret: required(secret({ refuse: basicPasswordFault }), 'Client secret at the token endpoint.'),
    scope: optional(label({ type: 'scope', example: 'nso', atMost: 1024 }), 'Scope of the token.'),
  }),
} as const;

const service = variants<OwnAuthentication>('type', own);

const auth = variants<OwnAuthentication | Parameters<typeof settleCaller>[0]>('type', { ...own, caller: callerShape(service) });

const baseUrl = httpUrl({ example: 'https://nso.example.net:8888', path: true });

const interval = mapping({ interval: defaulted(duration('1d'), '30s', 'Time between two probes.') });

/** YAML 1.2 reads `off` as text; the message for `false` names it. */
const health: Shape<{ readonly interval: number } | 'off'> = {
  ...interval,
  type: 'mapping, or off',
  async read(place) {
    const value = scalarOf(place);
    if (value === 'off') return 'off';
    if (value === undefined) return interval.read(place);
    return report(place, 'is neither { interval: 30s } nor off');
  },
};

function pathRights(defaultText: string, verb: string) {
  return mapping({
    actions: defaulted(
      pathGlobs,
      defaultText,
      `Globs of the paths that actions ${verb} use: \`*\` matches within a segment, \`**\` across segments.`,
    ),
    queries: defaulted(pathGlobs, defaultText, `Globs of the paths that queries ${verb} use.`),
  });
}

const adapterTls = mapped(
  mapping(
    {
      ...tlsFiles,
      serverName: optional(hostName, "Host name to expect in the orchestrator's certificate, in place of the host in the URL."),
      verify: defaulted(flag, 'true', 'false: the gateway accepts any certificate, and logs a warning at every start.'),
    },
    certificateWithKey,
  ),
  clientTls,
);

const adapterName = label({
  type: 'name',
  example: 'Local NSO',
  atMost: 128,
  refuse: (value) => (value === '.' || value === '..' ? 'cannot be a segment of a URL path' : undefined),
});

const oneAddress: Check = (place) => {
  const [url, urls] = [memberOf(place, 'url'), memberOf(place, 'urls')];
  if (url !== undefined && urls !== undefined) report(urls, 'cannot be used together with url; keep one of the two');
  if (url === undefined && urls === undefined) {
    report(
      { ...place, path: memberPath(place.path, 'url') },
      'is missing; write the base address, e.g. https://nso.example.net:8888',
    );
  }
};

const stampsOneKind: Check = (place) => {
  const stamp = memberOf(place, 'stamp');
  const kind = adapterKindNames.find((name) => name === scalarOf(memberOf(place, 'kind')));
  if (stamp === undefined || scalarOf(stamp) !== true || kind === undefined || adapterKinds[kind].stamps !== undefined) return;
  report(stamp, `is for kind nso; commits of kind ${kind} take no label`);
};

/** What the gateway says of a call, such as a dry run, holds for the interface of the kind alone. */
const opensOtherInterface: Check = (place) => {
  const kind = adapterKindNames.find((name) => name === scalarOf(memberOf(place, 'kind')));
  const allowed = memberOf(place, 'allowPaths');
  if (kind === undefined || allowed === undefined) return;
  for (const glob of ['actions', 'queries'].flatMap((operation) => itemsIn(allowed, operation))) {
    const door = namedInterface(adapterKinds[kind].otherInterfaces ?? [], String(scalarOf(glob)));
    if (door !== undefined)
      warn(
        glob,
        `opens ${door}, another interface of ${kind}: a call there may do all that the interface offers to the credentials of this adapter`,
      );
  }
};

export const adapterTimeouts = timeouts({ firstByte: '300s', idle: '60s', total: '300s' });

const adapter = mapping(
  {
    name: required(adapterName, 'Name of the adapter instance, as in the URL of the routes. Spaces are allowed.'),
    kind: required(
      choice(...adapterKindNames),
      `${Object.entries(adapterKindMeanings)
        .map(([name, meaning]) => `\`${name}\`: ${meaning}`)
        .join('; ')}.`,
    ),
    url: optional(baseUrl, 'Base address of the orchestrator, before `params.path`. Either `url` or `urls`.'),
    urls: optional(uniqueList(baseUrl, 1), 'Base addresses of the nodes of one orchestrator, the preferred one first.'),
    auth: defaulted(auth, '{ type: none }', 'Credentials of the gateway for the orchestrator.'),
    timeouts: defaulted(adapterTimeouts, '{}', 'Time limits of one call.'),
    responseLimit: defaulted(size('1024GiB'), '1GiB', 'Largest reply body, after decompression.'),
    concurrency: defaulted(integer(1, 100_000), '16', 'Calls in flight at each address.'),
    queue: defaulted(integer(0, 1_000_000), '1000', 'Calls that may wait for a slot at each address; further calls get 503.'),
    health: defaulted(health, '{}', 'Health probes. With `off` only the results of calls count.'),
    breaker: defaulted(
      mapping({
        failures: defaulted(integer(1, 1_000_000), '5', 'Consecutive failures that open the circuit breaker.'),
        openFor: defaulted(duration('1d'), '10s', 'How long the breaker stays open before it lets one call through.'),
      }),
      '{}',
      'Circuit breaker.',
    ),
    allowPaths: defaulted(pathRights('["**"]', 'may'), '{}', 'Paths that callers may use.'),
    denyPaths: defaulted(pathRights('[]', 'may not'), '{}', 'Paths that callers may not use, even if `allowPaths` has them.'),
    readActions: optional(
      pathGlobs,
      'Globs of POST actions that change nothing, so that a run may repeat them. Default of kind nso: the four of [Read actions](#read-actions); else none.',
    ),
    stamp: defaulted(
      flag,
      'false',
      'true (kind nso): configuration changes name the person, in label and comment of the commit. See [Stamps](#stamps).',
    ),
    tls: optional(adapterTls, 'Certificates for an HTTPS orchestrator.'),
    proxy: optional(proxy, 'Proxy for the connections to the orchestrator.'),
  },
  oneAddress,
  callersAreSafe,
  stampsOneKind,
  opensOtherInterface,
);

export const adaptersSection = list(
  mapped(adapter, ({ url, urls, auth: written, ...rest }) => ({
    ...rest,
    auth: settleCaller(written, rest),
    urls: urls ?? (url === undefined ? [] : [url]),
  })),
  { checks: [unique('name')] },
);
