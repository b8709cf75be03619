import type { AutomationCatalogue } from '#automations/automation-catalogue.ts';
import { Type } from '#base/json-schema.ts';
import type { Route } from '#http/route.ts';
import { namedObject } from '#json/closed-object.ts';
import { catalogueChange } from './route-traits.ts';

const ndjson = 'application/x-ndjson';
const line = '{"_id":"65f0c2a1b4d3e2f1a0b9c8d7","name":"Backup of core routers","repeatInterval":"1 day"}';

/** Import and export of the whole catalogue, with one document on each line (NDJSON). */
export function automationTransferRoutes(catalogue: AutomationCatalogue): readonly Route[] {
  return [importRoute(catalogue), exportRoute(catalogue)];
}

function importRoute(catalogue: AutomationCatalogue): Route {
  return {
    method: 'POST',
    url: '/automation_catalog/import',
    body: {
      kind: 'stream',
      mediaType: ndjson,
      schema: Type.String({ description: 'One automation on each line, as JSON of at most 1 MiB; blank lines are skipped.' }),
    },
    async handle({ body, context: { record } }) {
      const source = body as AsyncIterable<Buffer>;
      const { imported, replaced, ids } = await catalogue.import({ principal: record.principal, source });
      record.note({ imported: { documents: imported, ids } });
      return { kind: 'plain', status: 200, body: JSON.stringify({ imported, replaced }) };
    },
    ...catalogueChange,
    docs: {
      tag: 'automations',
      operationId: 'importAutomations',
      summary: 'Import automations (NDJSON)',
      description:
        'Imports all documents or none. Every field is kept as given, but for those that say who answers for the automation: the importer answers for what a line changes. A document replaces the one with the same `_id`; without an `_id` it gets one. It has at most 20,000 documents and 64 MiB, and the gateway checks all of it before any change. Four imports run at a time; others wait for ten seconds. The reply names each problem as `/LINE/field` (the first ten thousand).',
      success: {
        status: 200,
        description: 'How many documents were imported, and how many of them replaced another.',
        schema: namedObject('ImportResult', { imported: Type.Integer({ minimum: 0 }), replaced: Type.Integer({ minimum: 0 }) }),
      },
      errors: ['workflow-invalid', 'automation-exists', 'import-too-large', 'overloaded', 'store-unavailable'],
      example: { request: line, reply: { imported: 1, replaced: 0 } },
    },
  };
}

function exportRoute(catalogue: AutomationCatalogue): Route {
  return {
    method: 'GET',
    url: '/automation_catalog/export',
    async handle({ context }) {
      const batches = catalogue.export(context.record.principal);
      // Read before the status line is sent, so that an unavailable store gets 503.
      const first = await batches.next();
      return { kind: 'streamed', mediaType: ndjson, pieces: lines(first, batches) };
    },
    ...catalogueChange,
    docs: {
      tag: 'automations',
      operationId: 'exportAutomations',
      summary: 'Export every automation (NDJSON)',
      description:
        'A snapshot of the catalogue, sorted by name, with one document on each line: the format of the import. An aborted export has no end of the transfer coding; HTTP clients report that as an error. Two exports run at a time.',
      success: { status: 200, description: 'One automation on each line.', mediaType: ndjson, schema: Type.String() },
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
