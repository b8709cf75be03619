import type { CustomRoleOptions } from '#access/rights/access-options.ts';
import { type DryRunFormat, dryRunFormats } from '#adapters/dry-runs.ts';
import type { KnownAdapters } from '#adapters/known-adapters.ts';
import { Type } from '#base/json-schema.ts';
import { choiceParameter } from '#base/text/query-parameters.ts';
import type { CallContext } from '#calls/call-context.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import { invalidRequest } from '#json/forms/problem-list.ts';
import type { PreviewContext, TakePreview } from '#previews/preview.ts';
import { restRequestMembers } from '#relay/call-schemas.ts';
import type { RequestParams } from '#relay/orchestrator-request.ts';
import { type ApiRoute, json, route } from '../../route.ts';
import { jsonBody } from '../../route-body.ts';
import { relayedCall } from '../route-traits.ts';
import { adapterParams, asObject, judgeParams, knownAdapter, passedOnDocs, pickPassedOn } from './relay-routes.ts';

interface PreviewRoutesOptions {
  /** Read for each request, since a reload replaces them. */
  readonly adapters: () => KnownAdapters;
  readonly customRoles: () => readonly CustomRoleOptions[];
  readonly preview: TakePreview;
}

/** Asks an orchestrator what a call would do. */
export function previewRoutes(options: PreviewRoutesOptions): readonly ApiRoute[] {
  return [
    preview.serve(
      async (request) => {
        const { adapterId: adapter } = request.params;
        const { params } = request.body;
        const { context, sourceAddress, record, spans } = request;
        const format = formatIn(request);
        record.note({ adapter, verb: params.method, address: params.path });
        const call = {
          operation: 'restRequest',
          adapter,
          params,
          passedOn: pickPassedOn(request),
          body: spans.get('/body'),
        } as const;
        return json(200, await options.preview(call, previewContext(context, sourceAddress), format));
      },
      knownAdapter('restRequest', options),
    ),
  ];
}

/** The preview belongs to the request: it ends where the caller leaves. */
export function previewContext(context: CallContext, sourceAddress: string): PreviewContext {
  const { record, wait } = context;
  const { principal, requestId, trace, span } = record;
  const left = new AbortController();
  context.whenEnded((complete) => {
    if (!complete) left.abort();
  });
  return { principal, entrance: 'http', requestId, trace, span, sourceAddress, wait, signal: left.signal };
}

/** The format from the body or from the query. Throws 400 where both have one. */
export function formatIn({
  body,
  query,
}: Record<'body' | 'query', { readonly format?: DryRunFormat | undefined }>): DryRunFormat | undefined {
  if (query.format !== undefined && body.format !== undefined)
    throw invalidRequest([{ pointer: '?format', detail: 'is given more than once; give it once' }]);
  return query.format ?? body.format;
}

export const formatQuery = { format: choiceParameter(dryRunFormats, 'The same as `format` in the body.') };

const format = Type.Optional(
  Type.Enum([...dryRunFormats], {
    description:
      '`native`: the commands or messages for each device. `cli`: the change in the datastore, in curly braces. `xml`: the same as a NETCONF edit. Default: `native`, or `cli` where the orchestrator refuses a POST in that format.',
  }),
);

export const previewFormatBody = namedObject('PreviewFormat', { format });

const preview = route('POST /orchestrator_manager/preview/:adapterId', {
  ...relayedCall,
  tag: 'relay',
  operationId: 'preview',
  summary: 'Ask the orchestrator what a request would change; nothing is changed',
  description: [
    'Takes the body of restRequest, and `format` in the body or in the query. An adapter instance of kind nso is asked for a dry run: of a configuration change (POST, PUT, PATCH, DELETE below `restconf/data`), or of `sync-from`, `sync-to`, `re-deploy` and `un-deploy`. Nothing else is sent.',
    'A server that does not know dry runs may execute the request. So the gateway first reads the YANG library of the node that gets the dry run, and sends none where the module `tailf-ncs` is not in it.',
    'Where there is no preview, the reply is 200 too, with `kind` `none` and the reason: another kind of adapter, a request without a dry run, or the answer of an orchestrator that would refuse the request.',
  ].join('\n\n'),
  params: adapterParams,
  query: formatQuery,
  requestHeaders: passedOnDocs,
  body: jsonBody(namedObject('PreviewRequest', { ...restRequestMembers, format }), {
    opaque: ['/body'],
    judge(body, spans) {
      const { problems, judged: params } = judgeParams<RequestParams>(body, spans);
      const { format } = asObject(body) as { readonly format?: DryRunFormat };
      return { problems, judged: params && { params, format } };
    },
  }),
  reply: {
    description: 'The preview, or why there is none.',
    schema: Type.Union(
      [
        namedObject('ShownPreview', {
          kind: Type.Enum([...dryRunFormats]),
          text: Type.String({ description: 'The text of the orchestrator; empty where the call would change nothing.' }),
        }),
        namedObject('NoPreview', { kind: Type.Literal('none'), reason: Type.String({ description: 'A sentence.' }) }),
      ],
      { title: 'Preview' },
    ),
  },
  errors: ['path-denied', 'identity-unmapped', 'adapter-not-found', 'audit-unavailable'],
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
});
