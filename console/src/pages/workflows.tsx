import type { JSX } from 'preact';
import type { ListedWorkflow } from '#client/gateway.ts';
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
  const loaded = useLoad((signal) => found(search, signal), [search]);
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
        {({ list, total }) => {
          if (list.length === 0) return <Empty>{search === '' ? 'No workflow is stored.' : 'No workflow fits.'}</Empty>;
          return (
            <>
              <Table label="Workflows" columns={['Workflow', 'Version', 'Calls', 'Stored by', 'Stored']} extra={[3, 4, 5]}>
                {list.map(({ id, version, versions, title, calls, createdBy, createdAt }) => (
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
              {total > list.length && (
                <p class="note">
                  The first {list.length.toLocaleString('en')} of {total.toLocaleString('en')} workflows. A filter finds the
                  others.
                </p>
              )}
            </>
          );
        }}
      </Loading>
    </>
  );
}

const most = 1_000;

interface Found {
  readonly list: readonly ListedWorkflow[];
  readonly total: number;
}

/** By id or title at the gateway, and by function among the first ones. */
async function found(search: string, signal: AbortSignal): Promise<Found> {
  const listed = async (query: object) => (await gateway.listWorkflows({ query: { limit: most, ...query }, signal })).value;
  if (search === '') return await listed({});
  const [named, first] = await Promise.all([listed({ contains: search }), listed({})]);
  const known = new Set(named.list.map(({ id }) => id));
  const calling = first.list.filter(({ id, calls }) => !known.has(id) && calls.some((name) => hasText(name, search)));
  return { list: [...named.list, ...calling], total: named.total + calling.length };
}

function hasText(name: string, text: string): boolean {
  return name.toLowerCase().includes(text.toLowerCase());
}
