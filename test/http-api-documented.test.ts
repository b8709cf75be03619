import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import { curlExample } from '../src/http/documentation/docs-page-example.ts';
import { operationsIn, type PlacedOperation } from '../src/http/documentation/docs-page-operation.ts';
import type { OpenApiDocument } from '../src/http/documentation/openapi-document.ts';
import { startGateway } from './support/gateway/start-gateway.ts';

const page = readFileSync(new URL('../docs/reference/http-api.md', import.meta.url), 'utf8');
/** The text under each heading that names a route. */
const sections = new Map(
  page.split(/^## (?=[A-Z]+ \/)/m).flatMap((part, index): [string, string][] => {
    const line = part.indexOf('\n');
    return index === 0 ? [] : [[part.slice(0, line), part.slice(line)]];
  }),
);

const gateway = await startGateway({ after });
const document = (await gateway.send({ target: '/openapi.json' })).json() as OpenApiDocument;
const operations = operationsIn(document);

function titleOf({ method, path }: PlacedOperation): string {
  return `${method.toUpperCase()} ${path}`;
}

function access({ operation: { 'x-roles': roles } }: PlacedOperation): string {
  if (roles === 'everyone') return 'Open to everyone.';
  return roles === 'callers' ? 'For every authenticated caller.' : `Roles: ${roles.join(', ')}.`;
}

function replyOf({ operation }: PlacedOperation): string {
  const [success] = Object.entries(operation.responses).flatMap(([status, response]) =>
    status.startsWith('2') ? [response] : [],
  );
  const [content] = Object.values(success?.content ?? {});
  if (content === undefined) return '';
  return typeof content?.example === 'string' ? content.example : JSON.stringify(content?.example, undefined, 2);
}

describe('docs/reference/http-api.md', () => {
  test('has a section for every route that is served, and no other', () => {
    assert.deepEqual([...sections.keys()].sort(), operations.map(titleOf).sort());
  });

  test('names who may call each of them', () => {
    for (const placed of operations) {
      assert.ok(sections.get(titleOf(placed))?.startsWith(`\n\n${access(placed)}\n`), titleOf(placed));
    }
  });

  test('shows the call and the reply that OpenAPI gives as its example', () => {
    for (const placed of operations) {
      const section = sections.get(titleOf(placed)) ?? '';
      assert.ok(section.includes(`\`\`\`sh\n${curlExample(placed) ?? 'no example'}\n\`\`\``), titleOf(placed));
      const reply = replyOf(placed);
      assert.ok(reply === '' || section.includes(`\n${reply}\n\`\`\``), titleOf(placed));
    }
  });
});
