/**
 * What a run does: three steps. `values`: each computes a value from the one before. `reads`: each is a GET to the upstream.
 * `changes`: each is a POST to the upstream.
 */
export const jobNames = ['values', 'reads', 'changes'] as const;
export type JobName = (typeof jobNames)[number];

/** The input of each run. */
export const input = { start: 20 } as const;

type Value = Readonly<Record<string, unknown>>;

/** The three steps as functions, each with the result of the one before; for engines whose steps are code. */
export function stepsOf(job: JobName, far: string): readonly ((before: Value) => Value | Promise<Value>)[] {
  if (job === 'values')
    return [
      ({ start }) => ({ value: Number(start) + 1 }),
      ({ value }) => ({ value: Number(value) * 2 }),
      ({ value }) => ({ value: Number(value) - 3 }),
    ];
  const call = job === 'reads' ? () => fetch(`${far}/status`) : () => fetch(`${far}/status`, changing);
  const step = async (): Promise<Value> => {
    const reply = await call();
    if (reply.status !== 200) throw new Error(`the upstream answered ${reply.status}`);
    return (await reply.json()) as Value;
  };
  return [step, step, step];
}

const body = { order: 7 } as const;
const changing = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };

/** The same three steps as tasks of a workflow. */
export function tasksOf(job: JobName, far: string): readonly Value[] {
  if (job === 'values')
    return [
      { one: { set: { value: '${ .start + 1 }' } } },
      { two: { set: { value: '${ .value * 2 }' } } },
      { three: { set: { value: '${ .value - 3 }' } } },
    ];
  const method = job === 'reads' ? { method: 'get' } : { method: 'post', body };
  const call = { call: 'http', with: { endpoint: `${far}/status`, ...method } };
  return [{ one: call }, { two: call }, { three: call }];
}
