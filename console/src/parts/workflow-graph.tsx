import type { JSX } from 'preact';
import type { GraphProps } from '../graph/graph.tsx';
import { useLoad } from '../load.ts';
import { Loading } from './loading.tsx';

/** The graph of a workflow. Its program is loaded when a page first shows one. */
export function WorkflowGraph(props: GraphProps): JSX.Element {
  const loaded = useLoad(() => import('../graph/graph.tsx'), []);
  return <Loading of={loaded}>{({ Graph }) => <Graph {...props} />}</Loading>;
}
