import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createExpressionPool } from './jq/expression-pool.ts';
import { workflowLanguage } from './language.ts';
import { readWorkflow } from './read-workflow.ts';

const pool = createExpressionPool({ threads: 1, timeLimit: 10_000 });
after(() => pool.close());

const language = workflowLanguage();
const identity = { dsl: '1.0.3', namespace: 'lab', name: 'sync', version: '1.0.0' };

async function problemsOf(document: object): Promise<readonly { readonly pointer: string; readonly detail: string }[]> {
  const reading = await readWorkflow({ text: JSON.stringify(document), known: {}, expressions: pool });
  return 'problems' in reading ? reading.problems : [];
}

const foreign = 'qqqqqqqqqqqq';

/** An object at a path of the language, in the lists that the DSL has on the way. */
function placed(path: readonly string[], value: object): object {
  const [name = '', ...rest] = path;
  if (path.length === 0) return value;
  const inner = placed(rest, value);
  const isList = ['switch', 'all', 'any'].includes(name);
  return { [name === '*' ? 'chosen' : name]: isList ? [inner] : inner };
}

/** What the reader says it knows at a place, as its problem lists it. */
async function knownAt(documentOf: (value: object) => object): Promise<readonly string[]> {
  // An authentication has other members where it has `use`.
  const readings = await Promise.all([{}, { use: 'x' }].map((given) => problemsOf(documentOf({ ...given, [foreign]: 1 }))));
  const details = readings.flat().filter(({ pointer }) => pointer.endsWith(`/${foreign}`));
  const lists = details.flatMap(({ detail }) => /known are (.*)$/u.exec(detail)?.[1]?.split(/, | and /u) ?? []);
  return [...new Set(lists)].sort();
}

function childrenOf(paths: readonly string[], place: string): readonly string[] {
  const prefix = place === '' ? '' : `${place}.`;
  const inside = paths.filter((path) => path.startsWith(prefix)).map((path) => path.slice(prefix.length));
  return inside.filter((path) => path !== '' && !path.includes('.')).sort();
}

/** Compares each place that has members, but for `metadata`, where the author may add others. */
async function compare(paths: readonly string[], documentOf: (path: readonly string[], value: object) => object): Promise<void> {
  const places = ['', ...paths].filter((place) => childrenOf(paths, place).length > 0 && !/(?:^|\.)metadata$/u.test(place));
  for (const place of places) {
    const children = childrenOf(paths, place);
    if (children.includes('*')) continue;
    const known = await knownAt((value) => documentOf(place === '' ? [] : place.split('.'), value));
    assert.deepEqual(known, children, place);
  }
}

const query = { call: 'orchestratorQuery', with: { adapter: 'a', params: { path: 'a', accept: 'b' } } };
const valid: Readonly<Record<string, object>> = {
  call: query,
  emit: { emit: { event: { with: { source: 'https://a.example', type: 'a.b' } } } },
  for: { for: { in: '.a' }, do: [{ one: query }] },
  fork: { fork: { branches: [{ one: query }] } },
  listen: { listen: { to: { any: [] } } },
  raise: { raise: { error: { type: 'https://a.example', status: 400 } } },
  run: { run: { workflow: { namespace: 'a', name: 'b', version: '1.0.0' } } },
  set: { set: { a: 1 } },
  // oxlint-disable-next-line unicorn/no-thenable -- the directive of a case is no promise
  switch: { switch: [{ one: { then: 'end' } }] },
  try: { try: [{ one: query }], catch: {} },
  wait: { wait: 'PT1S' },
  do: { do: [{ one: query }] },
};

for (const { name, members } of language.tasks) {
  test(`the members of a task "${name}" are those that the reader knows`, async () => {
    assert.ok(valid[name] !== undefined, name);
    assert.deepEqual(await problemsOf({ document: identity, do: [{ valid: valid[name] }] }), []);
    await compare(members, (path, value) => ({ document: identity, do: [{ task: { ...valid[name], ...placed(path, value) } }] }));
  });
}

test('the members of a document are those that the reader knows', async () => {
  const whole = { document: identity, do: [{ one: query }] };
  await compare(language.document, (path, value) => ({ ...whole, ...placed(path, value) }));
});

for (const { name, with: members } of language.functions) {
  test(`the arguments of "${name}" are those that the reader knows`, async () => {
    await compare(members, (path, value) => ({
      document: identity,
      do: [
        {
          call: { call: name, with: { ...(path.length > 0 && name === 'batch' ? { items: '.a' } : {}), ...placed(path, value) } },
        },
      ],
    }));
  });
}

test('a function is in the language if the reader knows it', async () => {
  const [problem] = await problemsOf({ document: identity, do: [{ call: { call: foreign } }] });
  const known = /known are (.*)$/u.exec(problem?.detail ?? '')?.[1]?.split(/, | and /u) ?? [];
  assert.deepEqual(language.functions.map(({ name }) => name).toSorted(), known.toSorted());
  const roles = Object.fromEntries(language.functions.map(({ name, role }) => [name, role]));
  assert.deepEqual(roles, {
    http: 'engineering',
    openapi: 'engineering',
    restCall: 'engineering',
    orchestratorAction: 'admin',
    orchestratorQuery: 'admin',
    orchestratorRequest: 'admin',
    approval: undefined,
    batch: undefined,
  });
});

test('an expression compiles with a variable at each of its places, and at no other', async () => {
  const at: Readonly<Record<string, (expression: string) => object>> = {
    workflowInput: (from) => ({ document: identity, input: { from }, do: [{ one: query }] }),
    taskInput: (from) => ({ document: identity, do: [{ one: { ...query, input: { from } } }] }),
    task: (as) => ({ document: identity, do: [{ one: { ...query, output: { as } } }] }),
    taskExport: (as) => ({ document: identity, do: [{ one: { ...query, export: { as } } }] }),
    workflowOutput: (as) => ({ document: identity, output: { as }, do: [{ one: query }] }),
    for: (text) => ({
      document: identity,
      do: [{ one: { for: { in: '.a' }, do: [{ two: { set: { text: `\${ ${text} }` } } }] } }],
    }),
    listen: (text) => ({
      document: identity,
      do: [{ one: { listen: { to: { any: [] } }, foreach: { do: [{ two: { set: { text: `\${ ${text} }` } } }] } } }],
    }),
    try: (text) => ({ document: identity, do: [{ one: { try: [{ two: query }], catch: { when: `${text} != null` } } }] }),
  };
  const moments = ['workflowInput', 'taskInput', 'task', 'taskExport', 'workflowOutput'];
  for (const { name, places } of language.variables) {
    for (const place of places) assert.deepEqual(await problemsOf(at[place]?.(name) ?? {}), [], `${name} at ${place}`);
    for (const place of moments.filter((moment) => !places.includes(moment)))
      assert.match((await problemsOf(at[place]?.(name) ?? {}))[0]?.detail ?? '', /which (?:does not exist|is not defined)/u);
  }
});

test('each type of error may be caught and raised', async () => {
  assert.equal(language.errors.length, 12);
  for (const type of language.errors) {
    const clause = { errors: { with: { type } } };
    assert.deepEqual(await problemsOf({ document: identity, do: [{ one: { try: [{ two: query }], catch: clause } }] }), [], type);
  }
});
