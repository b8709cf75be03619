import type { JSX } from 'preact';
import { hrefOf, place } from '../address.ts';
import { useLoad } from '../load.ts';
import { Empty, Table, Time } from '../parts/basics.tsx';
import { Input } from '../parts/field.tsx';
import { Filters } from '../parts/filters.tsx';
import { Loading } from '../parts/loading.tsx';
import { NeededRight } from '../parts/needed-right.tsx';
import { gateway, may } from '../session.ts';
import { seenText } from '../texts.ts';

/** All workflows, each with its newest version. */
export function Workflows(): JSX.Element {
  const search = place.value.query.get('search') ?? '';
  const loaded = useLoad(async (signal) => (await gateway.listWorkflows({ query: { limit: 1000 }, signal })).value, []);
  return (
    <>
      {may('createWorkflow') ? (
        <div class="buttons">
          <a class="button main" href={hrefOf(['workflows', 'new'])}>
            New workflow
          </a>
        </div>
      ) : (
        <NeededRight of="createWorkflow" to="store workflows" />
      )}
      <Filters label="Filters of the workflows">
        <Input label="Title, id or function" name="search" value={search} />
      </Filters>
      <Loading of={loaded}>
        {({ list }) => {
          const wanted = search.toLowerCase();
          const found = list.filter(({ id, title = '', calls }) =>
            `${title}\n${id}\n${calls.join('\n')}`.toLowerCase().includes(wanted),
          );
          if (found.length === 0) return <Empty>{list.length === 0 ? 'No workflow is stored.' : 'No workflow fits.'}</Empty>;
          return (
            <Table label="Workflows" columns={['Workflow', 'Version', 'Calls', 'Stored by', 'Stored']} extra={[3, 4, 5]}>
              {found.map(({ id, version, versions, title, calls, createdBy, createdAt }) => (
                <tr key={id}>
                  <td class="grow">
                    <a href={hrefOf(['workflows', id])}>{seenText(title ?? id)}</a>
                    {title !== undefined && <div class="soft">{id}</div>}
                  </td>
                  <td>
                    {version}
                    {versions.length > 1 && <span class="soft"> of {versions.length}</span>}
                  </td>
                  <td>{calls.join(', ') || 'none'}</td>
                  <td>{seenText(createdBy)}</td>
                  <td class="fixed">
                    <Time at={createdAt} />
                  </td>
                </tr>
              ))}
            </Table>
          );
        }}
      </Loading>
    </>
  );
}
