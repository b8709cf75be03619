/* oxlint-disable unicorn/no-thenable -- the directive of a task is no promise */
import fc from 'fast-check';

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

const document = { dsl: '1.0.0', namespace: 'lab', name: 'work', version: '1.0.0' };

const wait: Json = { wait: { seconds: 1 } };

const query: Json = {
  call: 'orchestratorQuery',
  with: { adapter: 'Core', params: { path: 'data', accept: 'application/json' } },
};

/** Documents that have every part of the DSL that the gateway supports. */
export const workflowDocuments: readonly (readonly [name: string, document: Json])[] = [
  [
    'a check of all devices',
    {
      document: {
        ...document,
        title: 'Check',
        summary: 'Checks **all** devices',
        tags: { area: 'core' },
        metadata: { owner: 'noc' },
      },
      input: { schema: { format: 'json', document: { type: 'object', required: ['devices'] } }, from: '.devices' },
      timeout: { after: { hours: 1 } },
      output: { as: { checked: '${ . }' }, schema: { document: { type: 'object' } } },
      do: [
        {
          each: {
            for: { each: 'device', in: '.', at: 'position' },
            while: '$position < 100',
            do: [
              {
                check: {
                  ...(query as object),
                  output: { as: '.result' },
                  export: { as: '$context + { (.name): . }' },
                  timeout: { after: 'PT30S' },
                },
              },
              {
                inSync: {
                  switch: [{ yes: { when: '.result == "in-sync"', then: 'exit' } }, { no: { then: 'repair' } }],
                },
              },
              {
                repair: {
                  call: 'orchestratorAction',
                  with: { adapter: 'Core', params: { path: 'sync', accept: 'a/b' }, body: { n: 1 } },
                },
              },
            ],
            metadata: { note: 'slow' },
          },
        },
      ],
    },
  ],
  [
    'errors and retries',
    {
      document,
      use: {
        errors: {
          notReady: {
            type: 'https://example.net/not-ready',
            status: 409,
            title: 'Not ready',
            detail: '${ "no \\(.x)" }',
            instance: '/do/0',
          },
        },
        retries: {
          often: {
            when: '$problem.status >= 500',
            exceptWhen: '$problem.status == 501',
            delay: { milliseconds: 10 },
            backoff: { exponential: {} },
            jitter: { from: { seconds: 0 }, to: 'PT1S' },
            limit: { attempt: { count: 3, duration: { minutes: 1 } }, duration: { hours: 2 } },
          },
        },
        timeouts: { short: { after: 'PT5S' } },
      },
      timeout: 'short',
      do: [
        {
          first: {
            try: [{ call: { call: 'http', with: { method: 'get', endpoint: 'https://example.net/{id}' }, timeout: 'short' } }],
            catch: {
              errors: {
                with: { type: 'https://serverlessworkflow.io/spec/1.0.0/errors/communication', status: 503, details: 'x' },
              },
              as: 'problem',
              when: '$problem.status == 503',
              exceptWhen: 'false',
              retry: 'often',
              do: [{ give: { raise: { error: 'notReady' } } }],
            },
          },
        },
        { second: { if: '.x', raise: { error: { type: '${ .type }', status: 400 } } } },
      ],
    },
  ],
  [
    'calls by HTTP',
    {
      document,
      use: {
        secrets: ['key'],
        authentications: { lab: { basic: { use: 'key' } }, open: { bearer: { token: '${ .token }' } } },
        functions: { ask: { call: 'http', with: { method: 'GET', endpoint: '${ .uri }' } } },
      },
      do: [
        {
          full: {
            call: 'http',
            with: {
              method: 'post',
              endpoint: { uri: 'https://example.net/{a}', authentication: { use: 'lab' } },
              headers: { Accept: 'text/plain' },
              query: { q: '${ .q }' },
              body: { list: [1, '${ .x }'] },
              output: 'response',
              redirect: true,
            },
          },
        },
        { asked: { call: 'ask', with: { uri: 'https://example.net' } } },
        {
          described: {
            call: 'openapi',
            with: {
              document: {
                name: 'pets',
                endpoint: { uri: 'https://example.net/openapi.json', authentication: { bearer: { use: 'key' } } },
              },
              operationId: 'list',
              parameters: { status: '${ .status }' },
              authentication: { use: 'open' },
              output: 'raw',
              redirect: false,
            },
          },
        },
        { plain: { call: 'restCall', with: { uri: 'https://example.net', verb: 'GET', responseHeaders: true } } },
        { asks: { call: 'approval', with: { message: 'ok?', approvers: { roles: ['admin'] } }, then: 'end' } },
      ],
    },
  ],
  [
    'events',
    {
      document,
      do: [
        {
          send: {
            emit: {
              event: { with: { source: 'https://example.net/a', type: 'a.b', time: '2026-11-21T08:00:00Z', data: { n: 1 } } },
            },
          },
        },
        { one: { listen: { to: { one: { with: { type: 'a.b' } } }, read: 'envelope' } } },
        {
          all: {
            listen: {
              to: {
                all: [{ with: { type: 'a' }, correlate: { id: { from: '.id', expect: '${ .id }' } } }, { with: { type: 'b' } }],
              },
            },
          },
        },
        { until: { listen: { to: { any: [], until: '(. | length) > 3' } } } },
        {
          consumed: {
            listen: { to: { any: [{ with: { data: '${ .t > 38 }' } }], until: { one: { with: { type: 'end' } } } } },
            foreach: {
              item: 'event',
              at: 'i',
              do: [{ note: { set: { n: '${ $event }' } } }],
              output: { as: '.n' },
              export: { as: '.' },
            },
          },
        },
      ],
    },
  ],
  [
    'branches and other workflows',
    {
      document,
      do: [
        { both: { fork: { compete: true, branches: [{ a: wait }, { b: { do: [{ c: wait }] } }] } } },
        {
          other: {
            run: { await: false, workflow: { namespace: 'lab', name: 'other', version: 'latest', input: { a: '${ .a }' } } },
          },
        },
      ],
    },
  ],
];

const expression = fc.constantFrom('.a', '.a.b', '.list | length', '${ .a }', '"x"', '$context.x');
const duration: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>('PT1S', 'P1DT2H', 'P2W', 'PT0.5S'),
  fc.record({ hours: fc.nat(9), seconds: fc.nat(90), milliseconds: fc.nat(5_000) }),
);
const scalar: fc.Arbitrary<Json> = fc.oneof(
  fc.boolean(),
  fc.integer(),
  fc.string(),
  fc.constantFrom('${ .a }', '${ $context.b }'),
);
const data: fc.Arbitrary<Json> = fc.dictionary(
  fc.stringMatching(/^[a-z]{1,5}$/),
  fc.oneof(scalar, fc.array(scalar, { maxLength: 3 })),
  {
    minKeys: 1,
    maxKeys: 4,
  },
);
const schema: fc.Arbitrary<Json> = fc.constantFrom<Json>(
  { document: { type: 'object' } },
  { format: 'json', resource: { endpoint: 'https://example.net/schema' } },
);

const base = fc.record(
  {
    if: expression,
    input: fc.record({ from: fc.oneof(expression, data), schema }, { requiredKeys: [] }),
    output: fc.record({ as: fc.oneof(expression, data), schema }, { requiredKeys: [] }),
    export: fc.record({ as: expression, schema }, { requiredKeys: [] }),
    timeout: fc.record({ after: duration }),
    metadata: data,
  },
  { requiredKeys: [] },
);

const filter = fc.record({
  with: fc.record({ type: fc.constantFrom('a.b', 'c'), subject: fc.string() }, { requiredKeys: ['type'] }),
});

const simpleTask: fc.Arbitrary<Json> = fc.oneof(
  fc.record({ set: data }),
  fc.record({ wait: duration }),
  fc.constant(query),
  fc.record({
    call: fc.constant('http'),
    with: fc.record(
      {
        method: fc.constantFrom('get', 'PUT', 'Post'),
        endpoint: fc.constantFrom<Json>('https://example.net/{a}', '${ .uri }', { uri: 'https://example.net' }),
        headers: fc.constantFrom<Json>({}, { Accept: 'a/b' }),
        body: fc.oneof(data, scalar),
        output: fc.constantFrom('raw', 'content', 'response'),
        redirect: fc.boolean(),
      },
      { requiredKeys: ['method', 'endpoint'] },
    ),
  }),
  fc.record({
    raise: fc.record({
      error: fc.record({ type: fc.constant('https://example.net/e'), status: fc.integer({ min: 100, max: 599 }) }),
    }),
  }),
  fc.record({
    emit: fc.record({
      event: fc.record({ with: fc.record({ source: fc.constant('https://example.net'), type: fc.constant('a'), data }) }),
    }),
  }),
  fc.record({
    listen: fc.record({
      to: fc.oneof(fc.record({ one: filter }), fc.record({ any: fc.array(filter, { maxLength: 2 }), until: expression })),
    }),
  }),
  fc.record({
    switch: fc
      .array(fc.record({ when: expression, then: fc.constantFrom('continue', 'exit') }), { minLength: 1, maxLength: 3 })
      .map((cases) => cases.map((one, index) => ({ [`case${index}`]: one }))),
  }),
);

/** Tasks with names of their own, so that each list is valid. */
function listOf(task: fc.Arbitrary<Json>): fc.Arbitrary<Json[]> {
  return fc.array(task, { minLength: 1, maxLength: 3 }).map((tasks) => tasks.map((one, index) => ({ [`task${index}`]: one })));
}

const { task } = fc.letrec<{ task: Json; kind: Json }>((tie) => ({
  kind: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    simpleTask,
    fc.record({ do: listOf(tie('task')) }),
    fc.record({ for: fc.record({ in: expression }), do: listOf(tie('task')) }),
    fc.record({ fork: fc.record({ branches: listOf(tie('task')), compete: fc.boolean() }) }),
    fc.record({
      try: listOf(tie('task')),
      catch: fc.record({ as: fc.constant('problem'), when: expression, do: listOf(tie('task')) }, { requiredKeys: [] }),
    }),
  ),
  task: fc.tuple(tie('kind'), base).map(([kind, more]) => ({ ...more, ...(kind as object) })),
}));

/** A random document of supported parts. */
export const workflowDocument: fc.Arbitrary<Json> = fc
  .record(
    { input: fc.record({ from: fc.constantFrom('.a', '.') }), output: fc.record({ as: expression }), do: listOf(task) },
    { requiredKeys: ['do'] },
  )
  .map((more) => ({ document, ...more }));
