import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { Run, RunTask } from '#client/gateway.ts';
import { goTo, hrefOf, place } from '../address.ts';
import type { GraphState } from '../graph/graph-tasks.ts';
import { useLoad } from '../load.ts';
import { Loading } from '../parts/loading.tsx';
import { WorkflowGraph } from '../parts/workflow-graph.tsx';
import { gateway } from '../session.ts';
import { graphStatesOf } from '../task-tree.ts';

interface RunGraphProps {
  readonly run: Run;
  readonly tasks: readonly RunTask[];
}

/** The workflow of a run with the states of its tasks. A press on a task finds it in the timeline. */
export function RunGraph({ run, tasks }: RunGraphProps): JSX.Element {
  const [isOpen, setOpen] = useState(true);
  return (
    <details class="panel" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Graph</summary>
      {isOpen && <Drawn run={run} tasks={tasks} />}
    </details>
  );
}

function Drawn({ run: { workflow, version }, tasks }: RunGraphProps): JSX.Element {
  const loaded = useLoad(
    async (signal) => {
      const options = { path: { id: workflow }, query: { version }, headers: { Accept: 'application/json' }, signal };
      return (await gateway.readWorkflow(options)).value;
    },
    [workflow, version],
  );
  const states = useMemo((): ReadonlyMap<string, GraphState> => graphStatesOf(tasks), [tasks]);
  const { segments, query } = place.value;
  const find = (reference: string): void => {
    const name = reference.slice(reference.lastIndexOf('/') + 1);
    goTo(hrefOf(segments, { ...Object.fromEntries(query), find: name }), { replace: true });
  };
  return <Loading of={loaded}>{(document) => <WorkflowGraph document={document} states={states} onOpen={find} />}</Loading>;
}
