import type { JSX } from 'preact';
import type { Automation, WorkflowDocument } from '#client/gateway.ts';
import { hrefOf, place } from '../address.ts';
import { draftOf } from '../drafts.ts';
import { Subject } from '../frame/subject.ts';
import { useLoad } from '../load.ts';
import { Facts, Panel, Text } from '../parts/basics.tsx';
import { Loading } from '../parts/loading.tsx';
import { NeededRight } from '../parts/needed-right.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { WorkflowGraph } from '../parts/workflow-graph.tsx';
import { gateway, may } from '../session.ts';
import { seenText } from '../texts.ts';
import { EditWorkflow } from './edit.tsx';
import { NewWorkflow } from './new.tsx';
import { versionsOf } from './trial.ts';
import { Versions } from './versions.tsx';
import './workflows.css';

/** A workflow: drawn, as a document to write a new version from, and its versions. */
export function WorkflowPage({ id }: { readonly id: string }): JSX.Element {
  return id === 'new' ? <NewWorkflow /> : <StoredWorkflow id={id} />;
}

interface ShownWorkflow {
  readonly text: string;
  readonly document: WorkflowDocument;
  /** The newest first. */
  readonly versions: readonly string[];
  readonly automations: readonly Pick<Automation, '_id' | 'name'>[];
}

function StoredWorkflow({ id }: { readonly id: string }): JSX.Element {
  const version = place.value.query.get('version') ?? '';
  const loaded = useLoad(
    async (signal): Promise<ShownWorkflow> => {
      const options = { path: { id }, ...(version === '' ? {} : { query: { version } }), signal };
      const [text, parsed, versions, automations] = await Promise.all([
        gateway.readWorkflow({ ...options, headers: { Accept: 'application/yaml' } }),
        gateway.readWorkflow({ ...options, headers: { Accept: 'application/json' } }),
        may('listWorkflows') ? versionsOf(id, signal) : [],
        automationsOf(id, signal),
      ]);
      return { text: text.text, document: parsed.value, versions, automations };
    },
    [id, version],
  );
  return (
    <Loading of={loaded}>
      {(shown) => (
        <>
          <Head id={id} shown={shown} />
          <View id={id} shown={shown} again={loaded.again} />
        </>
      )}
    </Loading>
  );
}

interface HeadProps {
  readonly id: string;
  readonly shown: ShownWorkflow;
}

function Head({ id, shown: { document, versions, automations } }: HeadProps): JSX.Element {
  const { version, title, summary } = document.document;
  const isUnsaved = draftOf(pageOf(id, version)) !== undefined;
  const runners = automations.map(({ _id, name }) => (
    <div key={_id}>
      <a href={hrefOf(['automations', _id])}>{seenText(name)}</a>
    </div>
  ));
  return (
    <>
      <Subject title={title ?? id} id={id} />
      {summary !== undefined && <p class="lines">{seenText(summary)}</p>}
      <Facts
        of={[
          ['Version', versions.length > 1 ? `${version}, one of ${versions.length}` : version],
          ['Automations that run it', may('listAutomations') ? (runners.length === 0 ? 'none' : runners) : undefined],
          ['Runs', may('listRuns') ? <a href={hrefOf(['runs'], { workflow: id })}>Its runs</a> : undefined],
        ]}
      />
      <Tabs
        label="Views of the workflow"
        keep={['version']}
        of={[
          ['', 'Graph'],
          ['edit', may('createWorkflow') ? `Edit${isUnsaved ? ' (not stored yet)' : ''}` : 'Document'],
          ['versions', 'Versions'],
        ]}
      />
    </>
  );
}

function View({ id, shown: { text, document, versions }, again }: HeadProps & { readonly again: () => void }): JSX.Element {
  const view = place.value.query.get('view');
  if (view === 'versions') {
    if (!may('listWorkflows')) return <NeededRight of="listWorkflows" to="see all versions" />;
    return <Versions id={id} versions={versions} again={again} />;
  }
  if (view !== 'edit') return <WorkflowGraph document={document} />;
  if (may('createWorkflow')) {
    const page = pageOf(id, document.document.version);
    return <EditWorkflow key={page} page={page} stored={text} document={document} versions={versions} />;
  }
  return (
    <Panel title="Document">
      <NeededRight of="createWorkflow" to="store a version of this workflow" />
      <Text of={text} label="The document of the workflow" />
    </Panel>
  );
}

/** What drafts of a version belong to. */
function pageOf(id: string, version: string): string {
  return `workflow ${id} ${version}`;
}

async function automationsOf(id: string, signal: AbortSignal): Promise<ShownWorkflow['automations']> {
  if (!may('listAutomations')) return [];
  const query = { equals: id, equalsField: 'data.workflowId', limit: 20 } as const;
  // The filter ignores case.
  return (await gateway.listAutomations({ query, signal })).value.list.filter(({ data }) => data?.workflowId === id);
}
