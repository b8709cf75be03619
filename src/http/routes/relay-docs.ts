import type { RouteDocs } from '#http/route.ts';

type Prose = Required<Pick<RouteDocs, 'description' | 'example'>>;

const device = '/restconf/data/tailf-ncs:devices/device=ce0';
const yangJson = 'application/yang-data+json';
const localNso = { adapterId: 'Local NSO' };

/** What the documentation says of the relay routes at length. */
export const relayDocs = {
  restCall: {
    description: [
      'Whatever status the far side answers is the answer: the gateway replies 200 and names that status in `X-Upstream-Status`. It is an error only where no HTTP answer came.',
      'The outbound policy decides on every address that would be connected to; by default public ones alone. Up to `outbound.redirects` redirects are followed (five unless configured), `Authorization`, `Cookie`, `user` and `password` are dropped where the origin changes (other headers of yours go along). A call is never sent twice.',
      '`body` goes out with any verb, as JSON unless `headers` has another Content-Type: a `+json` type the same way, `application/x-www-form-urlencoded` from a flat object, an XML type by the mapping of the action route. A body that is no text comes back as base64, and `X-Upstream-Body-Encoding` says so.',
    ].join('\n\n'),
    example: {
      request: { uri: 'https://inventory.example.net/api/sites/7', verb: 'GET', responseHeaders: false },
      reply: { response: '{"id":7,"name":"Oslo","serial":18446744073709551615}' },
    },
  },
  restAction: {
    description: [
      '`params.path` is joined to the address of the adapter instance and sent as written, never decoded or normalised. An empty `body` (`{}`) sends no message body to the kinds nso and restconf.',
      'For an XML `contentType` the object is written as XML: one root, attributes as `@name`, text as `#text`, an array repeats its element; or `{ "$xml": "<…/>" }` is sent as it stands.',
      'A status of 400 and above is answered as 502 `upstream-error` with what the orchestrator said. Where the action left and no answer came, the error is `outcome-unknown`: it may have happened.',
    ].join('\n\n'),
    example: {
      path: localNso,
      request: { params: { path: `${device}/sync-from`, accept: yangJson }, body: {} },
      reply: [{ result: '{"tailf-ncs:output":{"result":true}}' }],
    },
  },
  restQuery: {
    description: [
      'Each instance in the reply becomes one element: the entries of a list, or a single object. Strings stand as they are, every other value as its exact JSON text, so that large numbers keep their digits. XML and other text is one instance, its property named after the root element or `content`.',
      'A resource that does not exist is an error (502 `upstream-error` with `upstream.status` 404), an empty one an empty `result`. Queries are tried again where the connection failed.',
    ].join('\n\n'),
    example: {
      path: localNso,
      request: { params: { path: `${device}?fields=name;address;port`, accept: yangJson } },
      reply: { result: [{ instance_data: { name: 'ce0', address: '10.0.0.10', port: '10022' } }] },
    },
  },
  restRequest: {
    description:
      'Beyond the two routes above: PATCH, PUT and DELETE of configuration. Path, media types and `body` follow the rules of the action route. Whatever status the orchestrator answers is the answer; only a redirect is refused.',
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
