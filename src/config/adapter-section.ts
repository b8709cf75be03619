import { hostName, httpUrl } from './address-shapes.ts';
import type { AdapterAuthConfig, AdapterConfig } from './config.ts';
import { basicUsername, proxy, timeouts, tlsFiles } from './dialling-shapes.ts';
import { pathGlobs } from './path-globs.ts';
import { certificateWithKey, clientTls } from './pem-shapes.ts';
import { memberOf, memberPath, scalarOf } from './place.ts';
import { choice, duration, flag, integer, label, size } from './scalar-shapes.ts';
import { basicPasswordFault, bearerTokenFault, headerValueFault, secret } from './secret-shape.ts';
import { type Check, defaulted, list, mapped, mapping, optional, required, type Shape, unique, variants } from './shape.ts';

/** The gateway writes the framing and routing headers of a request (RFC 9112, RFC 9110 section 7.6.1). */
const sendersHeaders = ['connection', 'content-length', 'content-type', 'content-encoding', 'expect', 'host', 'http2-settings'];
const hopHeaders = ['keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade'];
/** The gateway already sends these headers, so a credential under the same name would repeat one. */
const callHeaders = [
  'accept',
  'if-match',
  'if-unmodified-since',
  'traceparent',
  'tracestate',
  'user-agent',
  'x-cisco-nso-commit-params',
];
const reservedHeaders = new Set([...sendersHeaders, ...hopHeaders, ...callHeaders]);

function isReserved(name: string): boolean {
  return reservedHeaders.has(name.toLowerCase()) || /^proxy-/iu.test(name);
}

const headerName = label({
  type: 'header name',
  example: 'X-Api-Key',
  refuse: (value) => {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/u.test(value)) return 'is no header name (RFC 9110 section 5.1)';
    return isReserved(value) ? 'is a header that the gateway itself sets or forwards' : undefined;
  },
});

const typeMeaning = 'How the gateway authenticates to the orchestrator.';

const auth: Shape<AdapterAuthConfig> = variants<AdapterAuthConfig>('type', {
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
});

const baseUrl = httpUrl({ example: 'https://nso.example.net:8888', path: true });

const interval = mapping({ interval: defaulted(duration('1d'), '30s', 'Time between two probes.') });

/** `off` is text in YAML 1.2. For `false` the message names `off`. */
const health: Shape<AdapterConfig['health']> = {
  ...interval,
  type: 'mapping, or off',
  async read(place) {
    const value = scalarOf(place);
    if (value === 'off') return 'off';
    if (value === undefined) return interval.read(place);
    place.reading.problem(place, 'is neither { interval: 30s } nor off');
    return undefined;
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

/** Exactly one of `url` and `urls`. */
const oneAddress: Check = (place) => {
  const [url, urls] = [memberOf(place, 'url'), memberOf(place, 'urls')];
  if (url !== undefined && urls !== undefined)
    place.reading.problem(urls, 'cannot be used together with url; keep one of the two');
  if (url === undefined && urls === undefined) {
    place.reading.problem(
      { ...place, path: memberPath(place.path, 'url') },
      'is missing; write the base address, e.g. https://nso.example.net:8888',
    );
  }
};

export const adapterTimeouts = timeouts({ firstByte: '300s', idle: '60s', total: '300s' });

const adapter = mapping(
  {
    name: required(adapterName, 'Name of the adapter instance, as in the URL of the routes. Spaces are allowed.'),
    kind: required(
      choice('nso', 'restconf', 'rest'),
      '`nso`: Cisco NSO; `restconf`: any RFC 8040 server; `rest`: any other HTTP server.',
    ),
    url: optional(baseUrl, 'Base address of the orchestrator, before `params.path`. Either `url` or `urls`.'),
    urls: optional(
      list(baseUrl, { atLeast: 1, checks: [unique()] }),
      'Base addresses of the nodes of one orchestrator, the preferred one first.',
    ),
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
    tls: optional(adapterTls, 'Certificates for an HTTPS orchestrator.'),
    proxy: optional(proxy, 'Proxy for the connections to the orchestrator.'),
  },
  oneAddress,
);

export const adaptersSection: Shape<readonly AdapterConfig[]> = list(
  mapped(adapter, ({ url, urls, ...rest }) => ({ ...rest, urls: urls ?? (url === undefined ? [] : [url]) })),
  { checks: [unique('name')] },
);
