// suite: long

/**
 * The published SDK of the DSL judges the same documents: what it refuses is refused here, and what is accepted here it accepts. Its schema is
 * that of DSL 1.0.0. Later versions also allow expressions for durations, `set`, `headers` and `query`, so no document here has them.
 */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { createExpressionPool, type ExpressionPool } from './jq/expression-pool.ts';
import { readWorkflow } from './read-workflow.ts';
import { type Json, workflowDocument, workflowDocuments } from './workflow-documents.test-support.ts';

const require = createRequire(import.meta.url);
const { Classes } = require('@serverlessworkflow/sdk') as {
  readonly Classes: { readonly Workflow: { deserialize(text: string): unknown } };
};

const pool = createExpressionPool({ threads: 2, timeLimit: 10_000 });
after(() => pool.close());

function sdkRefusal(document: Json): string | undefined {
  try {
    Classes.Workflow.deserialize(JSON.stringify(document));
    return undefined;
  } catch (error) {
    return String(error).split('\n').slice(0, 3).join(' ');
  }
}

/** The SDK compiles no expressions, so that a document which it refuses has to be refused for another reason. */
const noCompiler = { problemOf: () => Promise.resolve(undefined) };

async function ourRefusal(document: Json, expressions: Pick<ExpressionPool, 'problemOf'> = pool): Promise<string | undefined> {
  const reading = await readWorkflow({ text: JSON.stringify(document), known: {}, expressions });
  return 'problems' in reading ? reading.problems.map(({ pointer, detail }) => `${pointer} ${detail}`).join('\n') : undefined;
}

for (const [name, document] of workflowDocuments)
  test(`the document of ${name} is accepted here and by the SDK`, async () => {
    assert.equal(await ourRefusal(document), undefined);
    assert.equal(sdkRefusal(document), undefined);
  });

test('a random document is accepted here and by the SDK', async () => {
  await fc.assert(
    fc.asyncProperty(workflowDocument, async (document) => {
      assert.equal(await ourRefusal(document), undefined);
      assert.equal(sdkRefusal(document), undefined);
    }),
    { numRuns: 15 },
  );
});

/** Values that are wrong in most places. */
const wrongValue: fc.Arbitrary<Json> = fc.constantFrom<Json>(
  null,
  true,
  0,
  -1,
  1.5,
  '',
  'text',
  'http',
  'PT',
  [],
  [{}],
  {},
  { a: 1 },
  { use: 'x' },
);

const names = [
  'do',
  'set',
  'call',
  'with',
  'use',
  'then',
  'when',
  'from',
  'as',
  'until',
  'extra',
  'for',
  'after',
  'basic',
  'document',
  'uri',
];

/** Each damage puts in a copy: a value in two places could be damaged into one that holds itself. */
type Damage = (holder: Record<string, Json> | Json[], key: string) => void;

const damage: fc.Arbitrary<Damage> = fc.oneof(
  fc.constant<Damage>((holder, key) => (Array.isArray(holder) ? holder.splice(Number(key), 1) : delete holder[key])),
  wrongValue.map<Damage>((value) => (holder, key) => Object.assign(holder, { [key]: structuredClone(value) })),
  fc.tuple(fc.constantFrom(...names), wrongValue).map<Damage>(
    ([name, value]) =>
      (holder) =>
        Object.assign(Array.isArray(holder) ? {} : holder, { [name]: structuredClone(value) }),
  ),
  fc.constantFrom(...names).map<Damage>((name) => (holder, key) => {
    if (Array.isArray(holder)) return;
    const value = holder[key];
    delete holder[key];
    holder[name] = value ?? null;
  }),
);

/** Every member and entry of a document. */
function places(value: Json): (readonly [holder: Record<string, Json> | Json[], key: string])[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [[value, key] as const, ...places(inner)]);
}

test('a damaged document that the SDK refuses is refused here', async () => {
  const anyDocument = fc.oneof(workflowDocument, fc.constantFrom(...workflowDocuments.map(([, document]) => document)));
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(
      anyDocument,
      fc.array(fc.tuple(fc.nat(), damage), { minLength: 1, maxLength: 2 }),
      async (document, damages) => {
        const damaged = structuredClone(document);
        for (const [index, apply] of damages) {
          const all = places(damaged);
          const [holder, key] = all[index % Math.max(1, all.length)] ?? [{}, ''];
          apply(holder, key);
        }
        const refusal = sdkRefusal(damaged);
        if (refusal === undefined) return;
        refused += 1;
        assert.notEqual(await ourRefusal(damaged, noCompiler), undefined, `${refusal}\n${JSON.stringify(damaged)}`);
      },
    ),
    { numRuns: 250 },
  );
  assert.ok(refused > 50, `only ${refused} of the damaged documents were refused by the SDK`);
});
