import { textFields } from '#automations/automation.ts';
import type { AutomationCatalogue, AutomationListing } from '#automations/automation-catalogue.ts';
import { automationSchema } from '#automations/automation-schema.ts';
import { filterKinds, pageSize, personKinds, readListOptions } from '#automations/list-options.ts';
import { Type } from '#base/json-schema.ts';
import type { Route, RouteDocs, RouteReply } from '#http/route.ts';
import { namedObject } from '#json/closed-object.ts';
import { automationTransferRoutes } from './automation-transfer-routes.ts';
import { type AutomationWritingNeeds, automationWritingRoutes } from './automation-writing-routes.ts';
import { catalogueReading } from './route-traits.ts';

const count = Type.Integer({ minimum: 0 });
const field = Type.Enum([...textFields], { default: 'name' });

const filterWords = { contains: 'contains', equals: 'is', startsWith: 'begins with' } as const;

const queryParameters: NonNullable<RouteDocs['queryParameters']> = [
  {
    name: 'limit',
    description: 'Size of the page; 0 returns only the counts.',
    schema: Type.Integer({ minimum: 0, maximum: pageSize.most, default: pageSize.usual }),
  },
  {
    name: 'skip',
    description: 'Number of automations to skip.',
    schema: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 }),
  },
  {
    name: 'sort',
    description: 'Field to sort by, ignoring case and accents; automations without it come first.',
    schema: field,
  },
  { name: 'order', description: '-1 reverses the order.', schema: Type.Enum([1, -1], { default: 1 }) },
  ...filterKinds.flatMap((kind) => [
    {
      name: kind,
      description: `Only automations whose ${kind}Field ${filterWords[kind]} this text, ignoring case and accents.`,
      schema: Type.String(),
    },
    { name: `${kind}Field`, description: `The field that ${kind} is compared with; only together with ${kind}.`, schema: field },
  ]),
  ...personKinds.map((kind) => ({
    name: kind,
    description: `Only automations with this ${kind}, a principal by its exact id or name.`,
    schema: Type.String(),
  })),
  {
    name: 'queryParameters',
    description: 'Replaces the parameters above: all of them as one JSON object, such as `{"limit":50}`.',
    schema: Type.String(),
  },
];

/** The reply has the documents as the catalogue stores them, without parsing them. */
function listing({ list, total, skip, limit }: AutomationListing): RouteReply {
  return { kind: 'plain', status: 200, body: `{"list":[${list.join(',')}],"total":${total},"skip":${skip},"limit":${limit}}` };
}

/** Listing the automations, reading and writing one of them, importing and exporting all of them. */
export function automationRoutes(catalogue: AutomationCatalogue, needs: AutomationWritingNeeds): readonly Route[] {
  return [listRoute(catalogue), ...automationWritingRoutes(catalogue, needs), ...automationTransferRoutes(catalogue)];
}

function listRoute(catalogue: AutomationCatalogue): Route {
  return {
    method: 'GET',
    url: '/automation_catalog/automations',
    // readListOptions checks names and values together, so that one reply lists all problems.
    query: () => true,
    async handle({ query, context, ...request }) {
      const options = readListOptions(query);
      request.count();
      const page = await catalogue.list({ principal: context.record.principal, options });
      if (page.isCut) request.reached('page');
      return listing(page);
    },
    ...catalogueReading,
    counted: 'judged',
    docs: {
      tag: 'automations',
      operationId: 'listAutomations',
      summary: 'List the automations in alphabetical order',
      description:
        'The options have three forms: `?limit=50`, `?queryParameters[limit]=50`, or one JSON object in `queryParameters`. A request uses one form, and each option once. An automation with a `read` list is listed and counted only for members of its `read` and `write` groups and for admins. Two listings run at a time. Others wait for up to 10 seconds, then get 503 `overloaded`; callers that wait take turns.',
      queryParameters,
      success: {
        status: 200,
        description:
          'A page, and the effective options. A page has at most 4 MiB, and `limit` is then the number of automations in `list`. `total` counts the automations that the caller may see and the filters match.',
        schema: namedObject('AutomationList', { list: Type.Array(automationSchema), total: count, skip: count, limit: count }),
      },
      errors: ['invalid-request', 'overloaded', 'store-unavailable'],
      example: {
        query: { limit: 50, startsWith: 'backup' },
        reply: {
          list: [
            {
              _id: '65f0c2a1b4d3e2f1a0b9c8d7',
              name: 'Backup of core routers',
              data: { gbac: { write: [], read: [] }, lastUpdated: '2026-03-01T22:00:00.000Z', workflowId: 'backup' },
              lastModifiedBy: 'admin',
              nextRunAt: '2026-03-02T22:00:00.000Z',
              repeatInterval: '1 day',
            },
          ],
          total: 1,
          skip: 0,
          limit: 50,
        },
      },
    },
  };
}
