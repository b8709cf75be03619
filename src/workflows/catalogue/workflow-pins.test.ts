import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { pinNamed, reachedWorkflows } from './workflow-pins.ts';
import type { WorkflowVersion } from './workflow-store.ts';

/** Documents by number, each with the numbers of those that it runs. */
type Graph = readonly (readonly number[])[];

function versionOf(graph: Graph, number: number): WorkflowVersion {
  const workflows = (graph[number] ?? []).map((run) => ({ id: `lab.w${run}`, version: run % 2 === 0 ? 'latest' : '1.0.0' }));
  return { id: `lab.w${number}`, version: '1.0.0', functions: [], workflows, digest: `d${number}`, storers: [] };
}

function reachableFrom(graph: Graph, from: number): ReadonlySet<number> {
  const seen = new Set([from]);
  for (const number of seen) for (const run of graph[number] ?? []) if (run < graph.length) seen.add(run);
  return seen;
}

const graphs = fc.integer({ min: 1, max: 6 }).chain((size) =>
  // One number more than there are documents: a version that does not exist.
  fc.array(fc.uniqueArray(fc.nat(size), { maxLength: 4 }), { minLength: size, maxLength: size }),
);

test('a run pins all that it can reach, each with every document by which it is reached', async () => {
  await fc.assert(
    fc.asyncProperty(graphs, async (graph) => {
      const find = async ({ id }: { readonly id: string }) => {
        const number = Number(id.slice('lab.w'.length));
        return number < graph.length ? versionOf(graph, number) : undefined;
      };
      const reached = (await reachedWorkflows({ find }, { id: 'lab.w0' })) ?? [];
      const wanted = reachableFrom(graph, 0);
      assert.deepEqual(reached.map(({ pin }) => pin.digest).toSorted(), [...wanted].map((number) => `d${number}`).toSorted());
      assert.equal(reached[0]?.pin.digest, 'd0');
      for (const { pin, chain } of reached) {
        const number = Number(pin.digest.slice(1));
        const above = [...wanted].filter((each) => reachableFrom(graph, each).has(number));
        assert.deepEqual([...chain].toSorted(), above.map((each) => `d${each}`).toSorted());
      }
      const pins = reached.map(({ pin }) => pin);
      for (const number of wanted) {
        for (const { id, version } of versionOf(graph, number).workflows) {
          const exists = Number(id.slice('lab.w'.length)) < graph.length;
          assert.equal(pinNamed(pins, { id, version })?.id, exists ? id : undefined);
        }
      }
    }),
    { numRuns: 200 },
  );
});

test('what the store changes while a run begins does not make two documents of one name', async () => {
  const graph: Graph = [[2, 1], [2], []];
  let reads = 0;
  const find = async ({ id }: { readonly id: string }) => {
    reads += 1;
    const found = versionOf(graph, Number(id.slice('lab.w'.length)));
    return { ...found, digest: `${found.digest} at ${reads}` };
  };
  const reached = (await reachedWorkflows({ find }, { id: 'lab.w0' })) ?? [];
  assert.equal(new Set(reached.map(({ pin }) => pin.id)).size, reached.length);
});
