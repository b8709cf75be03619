import type { JSX } from 'preact';
import { hrefOf } from '../address.ts';
import { useLoad } from '../load.ts';
import { Empty, Table, Time } from '../parts/basics.tsx';
import { Loading } from '../parts/loading.tsx';
import { gateway, may } from '../session.ts';

/** All workflows, each with its newest version. */
export function Workflows(): JSX.Element {
  const loaded = useLoad(async (signal) => (await gateway.listWorkflows({ query: { limit: 1000 }, signal })).value, []);
  return (
    <>
      {may('createWorkflow') && (
        <p>
          <a href={hrefOf(['workflows', 'new'])}>Write a new workflow</a>
        </p>
      )}
      <Loading of={loaded}>
        {({ list }) =>
          list.length === 0 ? (
            <Empty>No workflow is stored.</Empty>
          ) : (
            <Table label="Workflows" columns={['Workflow', 'Version', 'Calls', 'Stored by', 'Stored']} extra={[3, 4, 5]}>
              {list.map(({ id, version, versions, title, calls, createdBy, createdAt }) => (
                <tr key={id}>
                  <td class="grow">
                    <a href={hrefOf(['workflows', id])}>{id}</a>
                    {title !== undefined && <div class="soft">{title}</div>}
                  </td>
                  <td>
                    {version}
                    {versions.length > 1 && <span class="soft"> of {versions.length}</span>}
                  </td>
                  <td>{calls.join(', ') || 'none'}</td>
                  <td>{createdBy}</td>
                  <td class="fixed">
                    <Time at={createdAt} />
                  </td>
                </tr>
              ))}
            </Table>
          )
        }
      </Loading>
    </>
  );
}
