import type { AutomationCatalogue } from '#automations/automation-catalogue.ts';
import { Type } from '#base/json-schema.ts';
import type { Route } from '#http/route.ts';
import { closedObject } from '#json/closed-object.ts';
import { catalogueChange } from './route-traits.ts';

const ndjson = 'application/x-ndjson';
const line = '{"_id":"65f0c2a1b4d3e2f1a0b9c8d7","name":"Backup of core routers","repeatInterval":"1 day"}';

/** The whole catalogue in and out, a document a line. */
export function automationTransferRoutes(catalogue: AutomationCatalogue): readonly Route[] {
  return [importRoute(catalogue), exportRoute(catalogue)];
}

function importRoute(catalogue: AutomationCatalogue): Route {
  return {
    method: 'POST',
    url: '/automation_catalog/import',
    access: ['admin'],
    body: {
      kind: 'stream',
      mediaType: ndjson,
      schema: Type.String({ description: 'One automation a line, as JSON of at most 1 MiB; blank lines are passed over.' }),
    },
    async handle({ body }) {
      const result = await catalogue.import(body as AsyncIterable<Buffer>);
      return { kind: 'plain', status: 200, body: JSON.stringify(result) };
    },
    ...catalogueChange,
    docs: {
      tag: 'automations',
      operationId: 'importAutomations',
      summary: 'Import automations (NDJSON)',
      description:
        'All or nothing. Every field is kept as given; a document takes the place of the one with its `_id`, and gets an `_id` where it has none. The body may be of any length, and is judged to its end before anything is changed: each bad line is named as `/LINE/field` (the first ten thousand places).',
      success: {
        status: 200,
        description: 'How many documents were imported, and how many of them took the place of another.',
        schema: closedObject({ imported: Type.Integer({ minimum: 0 }), replaced: Type.Integer({ minimum: 0 }) }),
      },
      errors: ['automation-exists', 'store-unavailable'],
      example: { request: line, reply: { imported: 1, replaced: 0 } },
    },
  };
}

function exportRoute(catalogue: AutomationCatalogue): Route {
  return {
    method: 'GET',
    url: '/automation_catalog/export',
    access: ['admin'],
    async handle() {
      const batches = catalogue.export();
      // Begun before the status line is out, so that a store that is away is a 503.
      const first = await batches.next();
      return { kind: 'streamed', mediaType: ndjson, pieces: lines(first, batches) };
    },
    ...catalogueChange,
    docs: {
      tag: 'automations',
      operationId: 'exportAutomations',
      summary: 'Export every automation (NDJSON)',
      description:
        'The catalogue of one moment by name, a document a line, as an import takes it. An export that breaks off has no end: look for the end of the transfer coding, as HTTP clients do. Two exports run at a time.',
      success: { status: 200, description: 'One automation a line.', mediaType: ndjson, schema: Type.String() },
      errors: ['overloaded', 'store-unavailable'],
      example: { reply: line },
    },
  };
}

async function* lines(
  first: IteratorResult<readonly string[], void>,
  rest: AsyncGenerator<readonly string[], void, undefined>,
): AsyncGenerator<Buffer, void, undefined> {
  try {
    for (let next = first; next.done !== true; next = await rest.next()) {
      yield Buffer.from(next.value.map((document) => `${document}\n`).join(''));
    }
  } finally {
    await rest.return();
  }
}
