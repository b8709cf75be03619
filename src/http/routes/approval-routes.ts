import type { Operation } from '#access/operations.ts';
import type { ApprovalCatalogue, ApprovalRequest, SeenApproval } from '#approvals/approval-catalogue.ts';
import { approvalName } from '#approvals/approval-events.ts';
import { readApprovalListQuery } from '#approvals/approval-list-query.ts';
import type { ErrorCode } from '#base/error-codes.ts';
import { writeTimeCursor } from '#base/query-parameters.ts';
import { json, type Route, type RouteRequest } from '#http/route.ts';
import { invalidRequest } from '#json/problem-list.ts';
import {
  approvalListParameters,
  approvalPageSchema,
  approvalParameter,
  approvalSchema,
  decisionSchema,
  exampleApproval,
  exampleDecided,
  exampleListedApproval,
} from './approval-docs.ts';
import { shownApproval } from './approval-texts.ts';
import { formatIn, formatParameter } from './preview-routes.ts';
import { previewFormatBody } from './relay-schemas.ts';
import { catalogueChange, catalogueReading } from './route-traits.ts';

/** Approvals of calls and of tasks. The catalogue decides who sees one and who decides about it. */
export function approvalRoutes(approvals: ApprovalCatalogue): readonly Route[] {
  return [
    listRoute(approvals),
    readRoute(approvals),
    decisionRoute({
      url: '/approvals/:id/grant',
      decide: (request) => approvals.grant(request),
      operationId: 'grantApproval',
      summary: 'Grant an approval',
      description:
        'Only approvers may grant. The grant counts for each rule of which the caller is an approver. A second grant of the same caller changes nothing.',
      errors: ['approval-granted'],
      as: 'granted',
    }),
    decisionRoute({
      url: '/approvals/:id/reject',
      decide: (request) => approvals.reject(request),
      operationId: 'rejectApproval',
      summary: 'Reject an approval',
      description: 'Only approvers may reject. A rejection ends the approval, even one that was granted and not used yet.',
      errors: [],
      as: 'rejected',
    }),
    previewRoute(approvals),
  ];
}

function askedApproval({ context, params }: RouteRequest): ApprovalRequest {
  return { principal: context.record.principal, id: params['id'] ?? '' };
}

function listRoute(approvals: ApprovalCatalogue): Route {
  return {
    method: 'GET',
    url: '/approvals',
    // readApprovalListQuery checks names and values together, so that one reply lists all problems.
    query: () => true,
    async handle({ query, context, count, reached }) {
      const read = readApprovalListQuery(query);
      if ('problems' in read) throw invalidRequest(read.problems);
      count();
      const { list, next, isCut } = await approvals.list({ principal: context.record.principal, ...read.query });
      if (isCut === true) reached('page');
      return json(200, { list: list.map(shownApproval), cursor: next && writeTimeCursor(next) });
    },
    ...catalogueReading,
    counted: 'judged',
    docs: {
      tag: 'approvals',
      operationId: 'listApprovals',
      summary: 'List approvals, the newest first',
      description:
        'Those that the caller asked for or may decide; with the role admin all of them. Bodies and previews are in `GET /approvals/:id` alone. A page may have fewer than its limit, or none, and still a `cursor`.',
      queryParameters: approvalListParameters,
      success: { status: 200, description: 'A page; `cursor` if there may be more.', schema: approvalPageSchema },
      errors: ['store-unavailable'],
      example: { query: { status: 'waiting', limit: 1 }, reply: { list: [exampleListedApproval] } },
    },
  };
}

function readRoute(approvals: ApprovalCatalogue): Route {
  return {
    method: 'GET',
    url: '/approvals/:id',
    handle: async (request) => json(200, shownApproval(await approvals.read(askedApproval(request)))),
    ...catalogueReading,
    docs: {
      tag: 'approvals',
      operationId: 'readApproval',
      summary: 'Read an approval: the call as it would leave, its preview and the decisions',
      pathParameters: approvalParameter,
      success: { status: 200, description: 'The approval as it is now.', schema: approvalSchema },
      errors: ['approval-not-found', 'store-unavailable'],
      example: { path: { id: exampleApproval.id }, reply: exampleApproval },
    },
  };
}

const decisionErrors: readonly ErrorCode[] = [
  'forbidden',
  'approval-not-found',
  'approval-used',
  'approval-rejected',
  'approval-expired',
  'store-unavailable',
];

function decisionRoute(options: {
  readonly url: string;
  readonly decide: (request: ApprovalRequest & { readonly reason: string }) => Promise<SeenApproval>;
  readonly operationId: Operation;
  readonly summary: string;
  readonly description: string;
  readonly errors: readonly ErrorCode[];
  readonly as: 'granted' | 'rejected';
}): Route {
  const { url, decide, operationId, summary, description, errors, as } = options;
  return {
    method: 'POST',
    url,
    body: { kind: 'json', schema: decisionSchema },
    async handle(request) {
      const asked = askedApproval(request);
      const { reason } = request.body as { readonly reason: string };
      request.context.record.note({ approval: asked.id, reason });
      const decided = await decide({ ...asked, reason });
      request.context.record.note({ approvalName: approvalName(decided) });
      return json(200, shownApproval(decided));
    },
    ...catalogueChange,
    docs: {
      tag: 'approvals',
      operationId,
      summary,
      description,
      pathParameters: approvalParameter,
      success: { status: 200, description: 'The approval after the decision.', schema: approvalSchema },
      errors: [...decisionErrors, ...errors],
      example: {
        path: { id: exampleApproval.id },
        request: { reason: 'Checked with the change board.' },
        reply: exampleDecided(as),
      },
    },
  };
}

function previewRoute(approvals: ApprovalCatalogue): Route {
  return {
    method: 'POST',
    url: '/approvals/:id/preview',
    query: (name) => name === 'format',
    body: { kind: 'json', schema: previewFormatBody, optional: true },
    async handle(request) {
      const asked = askedApproval(request);
      request.context.record.note({ approval: asked.id });
      return json(200, shownApproval(await approvals.preview({ ...asked, format: formatIn(request) })));
    },
    ...catalogueChange,
    docs: {
      tag: 'approvals',
      operationId: 'previewApproval',
      summary: 'Ask the orchestrator again what the call would do',
      description:
        'The preview replaces the earlier one. It changes nothing at the orchestrator, and the rate limit of the caller counts it. An approval that is over gets none (409).',
      pathParameters: approvalParameter,
      queryParameters: formatParameter,
      success: { status: 200, description: 'The approval with its new preview.', schema: approvalSchema },
      errors: ['approval-not-found', 'approval-used', 'approval-rejected', 'approval-expired', 'store-unavailable'],
      example: {
        path: { id: exampleApproval.id },
        request: { format: 'native' },
        reply: {
          ...exampleApproval,
          preview: { kind: 'native', text: 'interface Loopback0\n description core\n', at: '2026-03-01T22:01:00.000Z' },
        },
      },
    },
  };
}
