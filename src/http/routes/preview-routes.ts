import type { CustomRoleOptions } from '#access/access-options.ts';
import { type DryRunFormat, dryRunFormats } from '#adapters/dry-runs.ts';
import type { KnownAdapters } from '#adapters/known-adapters.ts';
import { Type } from '#base/json-schema.ts';
import type { CallContext } from '#calls/call-context.ts';
import { json, type Route, type RouteRequest } from '#http/route.ts';
import { namedObject } from '#json/closed-object.ts';
import { invalidRequest } from '#json/problem-list.ts';
import type { PreviewContext, TakePreview } from '#previews/preview.ts';
import type { RequestParams } from '#relay/orchestrator-request.ts';
import {
  adapterIn,
  judgeOrchestratorBody,
  knownAdapter,
  paramsOf,
  passedOn,
  passedOnDocs,
  pathParameters,
} from './relay-routes.ts';
import { previewBody } from './relay-schemas.ts';
import { relayedCall } from './route-traits.ts';

interface PreviewRoutesOptions {
  /** Read for each request, since a reload replaces them. */
  readonly adapters: () => KnownAdapters;
  readonly customRoles: () => readonly CustomRoleOptions[];
  readonly preview: TakePreview;
}

/** The preview of a call: what the orchestrator says it would do, or why it says nothing. */
const previewSchema = Type.Union(
  [
    namedObject('ShownPreview', {
      kind: Type.Enum([...dryRunFormats]),
      text: Type.String({ description: 'The text of the orchestrator; empty where the call would change nothing.' }),
    }),
    namedObject('NoPreview', { kind: Type.Literal('none'), reason: Type.String({ description: 'A sentence.' }) }),
  ],
  { title: 'Preview' },
);

export const formatParameter = [
  { name: 'format', description: 'The same as `format` in the body.', schema: Type.Enum([...dryRunFormats]) },
];

/** Asks an orchestrator what a call would do. */
export function previewRoutes(options: PreviewRoutesOptions): readonly Route[] {
  return [
    {
      ...relayedCall,
      ...knownAdapter('restRequest', options),
      method: 'POST',
      url: '/orchestrator_manager/preview/:adapterId',
      query: (name) => name === 'format',
      body: { kind: 'json', schema: previewBody, opaque: ['/body'], judge: judgeOrchestratorBody },
      handle: async (request) => json(200, await previewOf(request, options)),
      docs: previewDocs,
    },
  ];
}

function previewOf(request: RouteRequest, { preview }: PreviewRoutesOptions): ReturnType<TakePreview> {
  const format = formatIn(request);
  const adapter = adapterIn(request.params);
  const params = paramsOf<RequestParams>(request);
  const { context, sourceAddress } = request;
  context.record.note({ adapter, verb: params.method, address: params.path });
  const call = {
    operation: 'restRequest',
    adapter,
    params,
    passedOn: passedOn(request),
    body: request.spans.get('/body'),
  } as const;
  return preview(call, previewContext(context, sourceAddress), format);
}

/** The preview belongs to the request: it ends where the caller leaves. */
function previewContext(context: CallContext, sourceAddress: string): PreviewContext {
  const { record, wait } = context;
  const { principal, requestId, trace, span } = record;
  const left = new AbortController();
  context.whenEnded((complete) => {
    if (!complete) left.abort();
  });
  return { principal, entrance: 'http', requestId, trace, span, sourceAddress, wait, signal: left.signal };
}

/** The member of the body or the query parameter. Throws 400 for another value, and where both are given. */
export function formatIn({ body, query }: RouteRequest): DryRunFormat | undefined {
  const { format: member } = (body ?? {}) as { readonly format?: DryRunFormat };
  const parameters = query.getAll('format');
  const [parameter] = parameters;
  if (parameter === undefined) return member;
  const format = dryRunFormats.find((each) => each === parameter);
  if (format === undefined) throw invalidRequest([{ pointer: '?format', detail: `must be one of ${dryRunFormats.join(', ')}` }]);
  if (parameters.length > 1 || member !== undefined)
    throw invalidRequest([{ pointer: '?format', detail: 'is given more than once; give it once' }]);
  return format;
}

const previewDocs: Route['docs'] = {
  tag: 'relay',
  operationId: 'preview',
  summary: 'Ask the orchestrator what a request would change; nothing is changed',
  description: [
    'Takes the body of restRequest, and `format` in the body or in the query. An adapter instance of kind nso is asked for a dry run: of a configuration change (POST, PUT, PATCH, DELETE below `restconf/data`), or of `sync-from`, `sync-to`, `re-deploy` and `un-deploy`. Nothing else is sent.',
    'A server that does not know dry runs may execute the request. So the gateway first reads the YANG library of the node that gets the dry run, and sends none where the module `tailf-ncs` is not in it.',
    'Where there is no preview, the reply is 200 too, with `kind` `none` and the reason: another kind of adapter, a request without a dry run, or the answer of an orchestrator that would refuse the request.',
  ].join('\n\n'),
  pathParameters,
  queryParameters: formatParameter,
  requestHeaders: passedOnDocs,
  success: { status: 200, description: 'The preview, or why there is none.', schema: previewSchema },
  errors: ['path-denied', 'adapter-not-found', 'audit-unavailable'],
  example: {
    path: { adapterId: 'Local NSO' },
    request: {
      params: {
        method: 'PATCH',
        path: '/restconf/data/tailf-ncs:devices/device=ce0/config',
        accept: 'application/yang-data+json',
      },
      body: { 'tailf-ncs:config': { 'tailf-ned-cisco-ios:hostname': 'edge-0' } },
    },
    reply: { kind: 'native', text: 'hostname edge-0\n' },
  },
};
