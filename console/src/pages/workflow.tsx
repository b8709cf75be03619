import type { JSX } from 'preact';
import { hrefOf, place } from '../address.ts';
import { useLoad } from '../load.ts';
import { Panel, Text } from '../parts/basics.tsx';
import { Loading } from '../parts/loading.tsx';
import { Steps } from '../parts/steps.tsx';
import { gateway, may } from '../session.ts';
import { stepsIn } from '../steps.ts';
import { WorkflowEditor } from './workflow-editor.tsx';

const beginning = `document:
  dsl: '1.0.3'
  namespace: lab
  name: first
  version: '1.0.0'
do:
  - greet:
      set:
        text: hello
`;

/** A workflow: its steps drawn, and its document to read or to write a new version from. */
export function WorkflowPage({ id }: { readonly id: string }): JSX.Element {
  if (id === 'new') return <WorkflowEditor text={beginning} first={[]} />;
  return <StoredWorkflow id={id} />;
}

function StoredWorkflow({ id }: { readonly id: string }): JSX.Element {
  const version = place.value.query.get('version') ?? '';
  const loaded = useLoad(
    async (signal) => {
      const options = { path: { id }, ...(version === '' ? {} : { query: { version } }), signal };
      const [text, parsed] = await Promise.all([
        gateway.readWorkflow({ ...options, headers: { Accept: 'application/yaml' } }),
        gateway.readWorkflow({ ...options, headers: { Accept: 'application/json' } }),
      ]);
      return { text: text.text, document: parsed.value };
    },
    [id, version],
  );
  return (
    <Loading of={loaded}>
      {({ text, document }) => (
        <>
          <h2 class="name">
            {id} {document.document.version}
          </h2>
          <p>
            {document.document.summary} <a href={hrefOf(['runs'], { workflow: id })}>Its runs</a>
          </p>
          {may('createWorkflow') ? (
            <WorkflowEditor key={`${id}${document.document.version}`} text={text} first={stepsIn(document)} />
          ) : (
            <>
              <Panel title="Steps">
                <Steps of={stepsIn(document)} />
              </Panel>
              <Panel title="Document">
                <Text of={text} label="The document of the workflow" />
              </Panel>
            </>
          )}
        </>
      )}
    </Loading>
  );
}
