/** A list of tasks of a workflow. */
type Tasks = readonly Readonly<Record<string, object>>[];

/** Runs the tasks without end, and goes on after an error. */
function forever(task: object): Tasks {
  const caught = { try: [{ work: task }], catch: { as: 'error', do: [{ next: { set: { failed: true } } }] } };
  // oxlint-disable-next-line unicorn/no-thenable -- a word of the DSL
  return [{ turn: { ...caught, then: 'turn' } }];
}

/** The tasks that the hostile user runs, by name. `far`: the address of its own upstream. */
export function hostileWorkflows(far: string): Readonly<Record<string, Tasks>> {
  const jq = (expression: string): string => `\${ ${expression} }`;
  const raised = { type: 'https://example.net/a', status: 400, title: jq('"x" * 1000000'), detail: jq('"x" * 1000000') };
  const event = { source: 'https://hostile.example.net', type: 'net.example.large', data: jq('{ text: ("x" * 200000) }') };
  const openapi = (path: string): object => ({
    call: 'openapi',
    with: { document: { endpoint: `${far}/${path}` }, operationId: 'read' },
  });
  const restCall = (path: string): object => ({ call: 'restCall', with: { uri: `${far}/${path}`, verb: 'GET' } });
  const question = { message: jq('"x" * 10240'), approvers: { groups: ['noc'] } };
  return {
    waits: forever({ wait: { milliseconds: 1 } }),
    computes: forever({ set: { a: 1 } }),
    'slow-jq': forever({ set: { out: jq('last(range(1e12))') } }),
    'slow-pattern': forever({ set: { out: jq('("a" * 40) | test("^(a+)+$b")') } }),
    'large-jq': forever({ set: { out: jq('"x" * 8000000') } }),
    errors: forever({ raise: { error: raised } }),
    emits: forever({ emit: { event: { with: event } } }),
    'calls-large': forever(restCall('large')),
    'calls-silent': forever(restCall('silent')),
    'openapi-broken': forever(openapi('broken')),
    'openapi-large': forever(openapi('openapi')),
    asks: [{ ask: { call: 'approval', with: question } }],
  };
}
