import assert from 'node:assert/strict';
import type { CountingUpstream } from './counting-upstream.ts';
import type { RunCaller, SeenTask } from './run-caller.ts';

interface Decided {
  /** What the run is called where its actions have numbers. */
  readonly name: string;
  readonly id: string;
  /** What the upstream counts the action of a task by. */
  readonly actionOf: (task: SeenTask) => string;
}

/** Decides every call of a run with an unknown outcome by what the upstream saw, and answers the decisions that were taken. */
export async function decideByArrival(
  caller: RunCaller,
  far: CountingUpstream,
  { name, id, actionOf }: Decided,
): Promise<readonly ('done' | 'again')[]> {
  const decisions: ('done' | 'again')[] = [];
  const open = (await caller.tasks(id)).filter(({ status }) => status === 'suspended');
  for (const task of open) {
    assert.equal(task.error?.type, 'urn:orchestration-gateway:errors:outcome-unknown', JSON.stringify(task));
    const as = far.arrived.has(actionOf(task)) ? 'done' : 'again';
    const body = { task: task.id, as, reason: `${name} in the records of the upstream` };
    const reply = await caller.change(id, 'resume', body);
    // A decision whose reply a kill cut off may have been taken.
    assert.ok([200, 409].includes(reply.status), reply.text);
    if (reply.status === 200) decisions.push(as);
  }
  return decisions;
}
