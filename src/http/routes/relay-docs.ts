import type { RouteDocs } from '#http/route.ts';

type Prose = Required<Pick<RouteDocs, 'description' | 'example'>>;

const device = '/restconf/data/tailf-ncs:devices/device=ce0';
const yangJson = 'application/yang-data+json';
const localNso = { adapterId: 'Local NSO' };

/** The long descriptions and examples of the relay routes. */
export const relayDocs = {
  restCall: {
    description: [
      'Any status of the far side is a success: the gateway replies 200 and has that status in `X-Upstream-Status`. Only a missing HTTP reply is an error.',
      'The outbound policy decides on every address before the gateway connects to it; by default only public addresses are allowed. The gateway follows up to `outbound.redirects` redirects (default five). Where a redirect changes the origin, it drops `user`, `password` and all your headers but `Accept…`, `Content-Type`, `User-Agent` and `traceparent`. A call is never sent twice.',
      '`body` is sent with any verb, as JSON unless `headers` has another Content-Type. A `+json` type is sent like JSON, `application/x-www-form-urlencoded` from a flat object, and an XML type by the mapping of the action route. A reply body that is not text is returned as base64, with `X-Upstream-Body-Encoding: base64`.',
    ].join('\n\n'),
    example: {
      request: { uri: 'https://inventory.example.net/api/sites/7', verb: 'GET', responseHeaders: false },
      reply: { response: '{"id":7,"name":"Oslo","serial":18446744073709551615}' },
    },
  },
  restAction: {
    description: [
      'The gateway appends `params.path` to the address of the adapter instance and sends it unchanged, never decoded or normalised. For the kinds nso and restconf an empty `body` (`{}`) sends no message body.',
      'For an XML `contentType` the object is written as XML: one root, attributes as `@name`, text as `#text`, an array as repeated elements. `{ "$xml": "<…/>" }` is sent unchanged.',
      'A status of 400 or above becomes 502 `upstream-error` with the message of the orchestrator. Where the action left and got no reply, the error is `outcome-unknown`: the action may have happened.',
    ].join('\n\n'),
    example: {
      path: localNso,
      request: { params: { path: `${device}/sync-from`, accept: yangJson }, body: {} },
      reply: [{ result: '{"tailf-ncs:output":{"result":true}}' }],
    },
  },
  restQuery: {
    description: [
      'Each instance in the reply becomes one element: the entries of a list, or a single object. Strings stay unchanged; any other value becomes its exact JSON text, so that large numbers keep their digits. XML and other text is one instance, with one property named after the root element, or `content`.',
      'A missing resource is an error (502 `upstream-error` with `upstream.status` 404); an empty resource gives an empty `result`. The gateway repeats a query after a failed connection.',
    ].join('\n\n'),
    example: {
      path: localNso,
      request: { params: { path: `${device}?fields=name;address;port`, accept: yangJson } },
      reply: { result: [{ instance_data: { name: 'ce0', address: '10.0.0.10', port: '10022' } }] },
    },
  },
  restRequest: {
    description:
      'For PATCH, PUT and DELETE of configuration, which the two routes above cannot send. Path, media types and `body` follow the rules of the action route; but an empty `body` (`{}`) is sent as it is, except with POST to the kinds nso and restconf. Any status of the orchestrator is a success, except a redirect, which is refused.',
    example: {
      path: localNso,
      request: {
        params: { method: 'PATCH', path: device, accept: yangJson },
        body: { 'tailf-ncs:device': [{ name: 'ce0', description: 'edge router' }] },
      },
      reply: { statusCode: 204, headers: { date: 'Mon, 02 Mar 2026 08:00:00 GMT' }, body: '' },
    },
  },
} as const satisfies Record<string, Prose>;
