import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createClient } from '@hey-api/openapi-ts';
import {
  type ApiOperation,
  type OpenApiDocument,
  operationsIn,
  type PlacedOperation,
} from '../../src/http/documentation/openapi-document.ts';

/** The part of the client that is made, and not written. */
export const generatedFolder = fileURLToPath(new URL('../../client/src/generated', import.meta.url));

/** Makes the generated part of the client in this folder. */
export async function generateClient(document: OpenApiDocument, folder: string): Promise<void> {
  await createClient({
    // The generator changes its input.
    input: structuredClone(document) as unknown as Record<string, unknown>,
    output: { path: folder, clean: false, entryFile: false },
    plugins: ['@hey-api/typescript'],
    logs: { level: 'silent' },
  });
  await writeFile(join(folder, 'operations.gen.ts'), operationsModule(document));
}

/** The files that differ between two folders. */
export async function staleFiles(made: string, kept: string): Promise<readonly string[]> {
  const names = await Promise.all([made, kept].map((folder) => readdir(folder).catch(() => [])));
  const stale: string[] = [];
  for (const name of new Set(names.flat().toSorted())) {
    const [one, other] = await Promise.all(
      [made, kept].map((folder) => readFile(join(folder, name), 'utf8').catch(() => undefined)),
    );
    if (one !== other) stale.push(name);
  }
  return stale;
}

/** The text of operations.gen.ts: each operation as a value for the front, and as the type of its method. */
function operationsModule(document: OpenApiDocument): string {
  const placed = operationsIn(document).filter(({ operation }) => !isForBrowsers(operation));
  const types = placed.flatMap(({ operation }) =>
    isStream(operation) ? [`${typeName(operation)}Data`] : [`${typeName(operation)}Data`, `${typeName(operation)}Responses`],
  );
  return `// Made from the OpenAPI document by tools/client.ts. Do not change it by hand.
import type { CallOptions, FollowOptions, Operation, Reply, StreamedEvent } from '../call.ts';
import type {
${types
  .toSorted()
  .map((name) => `  ${name},\n`)
  .join('')}} from './types.gen.ts';

export const operations = {
${placed.map((one) => `  ${one.operation.operationId}: ${valueOf(one)},\n`).join('')}} as const satisfies Readonly<Record<string, Operation>>;

/** The operationIds. */
export type OperationName = keyof typeof operations;

/** A method for each operation. */
export interface Operations {
${placed.map((one) => methodOf(one)).join('')}}

/** The operations whose lists have pages. */
export interface Pages {
${placed
  .filter((one) => pagesOf(one) !== undefined)
  .map((one) => pagerOf(one))
  .join('')}}
`;
}

/** As the generator names the types of an operation. */
function typeName({ operationId }: ApiOperation): string {
  return operationId.charAt(0).toUpperCase() + operationId.slice(1);
}

/** A route that only leads a browser on is no method of a program. */
function isForBrowsers({ responses }: ApiOperation): boolean {
  return !Object.keys(responses).some((status) => status.startsWith('2'));
}

function isStream({ responses }: ApiOperation): boolean {
  return responses[200]?.content?.['text/event-stream'] !== undefined;
}

function valueOf(placed: PlacedOperation): string {
  const { method, path, operation } = placed;
  const [body] = Object.keys(operation.requestBody?.content ?? {});
  const pages = pagesOf(placed);
  const members = [
    `method: '${method.toUpperCase()}'`,
    `path: '${path}'`,
    ...(body === undefined ? [] : [`body: '${body}'`]),
    ...(pages === undefined ? [] : [`pages: '${pages}'`]),
    ...(isStream(operation) ? ['follows: true'] : []),
    `roles: ${rolesOf(operation)}`,
  ];
  return `{ ${members.join(', ')} }`;
}

function rolesOf({ 'x-roles': roles }: ApiOperation): string {
  return typeof roles === 'string' ? `'${roles}'` : `[${roles.map((role) => `'${role}'`).join(', ')}]`;
}

function pagesOf({ operation }: PlacedOperation): 'cursor' | 'skip' | undefined {
  const names = operation.parameters.flatMap((parameter) =>
    'in' in parameter && parameter.in === 'query' ? [parameter.name] : [],
  );
  if (names.includes('cursor')) return 'cursor';
  return names.includes('skip') ? 'skip' : undefined;
}

function methodOf({ path, operation }: PlacedOperation): string {
  const { operationId, summary, description, requestBody } = operation;
  const name = typeName(operation);
  const needed = path.includes('{') || requestBody?.required === true ? '' : '?';
  const comment = [summary, ...(description === '' ? [] : ['', ...description.split('\n')])];
  const signature = isStream(operation)
    ? `(options${needed}: FollowOptions<${name}Data>): AsyncIterable<StreamedEvent>`
    : `(options${needed}: CallOptions<${name}Data>): Promise<Reply<${name}Responses[keyof ${name}Responses]>>`;
  return `  /**\n${comment.map((line) => `   * ${line}`.trimEnd().replaceAll('*/', '*\\/')).join('\n')}\n   */\n  ${operationId}${signature};\n`;
}

function pagerOf({ path, operation }: PlacedOperation): string {
  const name = typeName(operation);
  const needed = path.includes('{') ? '' : '?';
  return `  /** The entries of \`${operation.operationId}\`. */\n  ${operation.operationId}(options${needed}: CallOptions<${name}Data>): AsyncIterable<${name}Responses[200]['list'][number]>;\n`;
}
