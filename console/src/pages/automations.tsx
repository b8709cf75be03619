import type { JSX } from 'preact';
import type { Automation, ListAutomationsData } from '#client/gateway.ts';
import { hrefOf, place } from '../address.ts';
import { useLoad } from '../load.ts';
import { Empty, Table, Time } from '../parts/basics.tsx';
import { Input, Select } from '../parts/field.tsx';
import { Filters } from '../parts/filters.tsx';
import { Loading } from '../parts/loading.tsx';
import { gateway } from '../session.ts';

type Query = NonNullable<ListAutomationsData['query']>;
const pageSize = 50;

const sorts = [
  ['name', 'name'],
  ['lastRunAt', 'last scheduled run'],
  ['nextRunAt', 'next due'],
  ['data.lastUpdated', 'last change'],
] as const;

/** The catalogue: search, and the way to each automation. */
export function Automations(): JSX.Element {
  const { query } = place.value;
  const get = (name: string): string => query.get(name) ?? '';
  const skip = Number(get('skip')) || 0;
  const sort = get('sort') || 'name';
  const loaded = useLoad(
    async (signal) => {
      const asked: Query = { limit: pageSize, skip, sort: sort as NonNullable<Query['sort']>, order: sort === 'name' ? 1 : -1 };
      const contains = get('contains');
      const filter =
        contains === '' ? {} : { contains, containsField: (get('in') || 'name') as NonNullable<Query['containsField']> };
      return (await gateway.listAutomations({ query: { ...asked, ...filter }, signal })).value;
    },
    [query.toString()],
  );
  return (
    <>
      <Filters label="Search the automations">
        <Input label="Contains" name="contains" value={get('contains')} />
        <Select
          label="In"
          name="in"
          value={get('in') || 'name'}
          options={[
            ['name', 'name'],
            ['data.description', 'description'],
            ['data.workflowId', 'workflow'],
            ['lastModifiedBy', 'last modified by'],
          ]}
        />
        <Select label="Sorted by" name="sort" value={sort} options={sorts} />
      </Filters>
      <Loading of={loaded}>
        {({ list, total }) => (
          <>
            {list.length === 0 ? <Empty>No automation fits.</Empty> : <AutomationTable automations={list} />}
            <Pager skip={skip} shown={list.length} total={total} />
          </>
        )}
      </Loading>
    </>
  );
}

function AutomationTable({ automations }: { readonly automations: readonly Automation[] }): JSX.Element {
  return (
    <Table
      label="Automations"
      columns={['Automation', 'Workflow', 'Schedule', 'Next due', 'Last scheduled run']}
      extra={[2, 3, 5]}
    >
      {automations.map(({ _id, name, data, nextRunAt, lastRunAt, repeatInterval }) => (
        <tr key={_id}>
          <td class="grow">
            <a href={hrefOf(['automations', _id])}>{name}</a>
            <div class="soft">{data?.description}</div>
          </td>
          <td>{data?.workflowId ?? '–'}</td>
          <td>{data?.cron ?? (repeatInterval === undefined ? '–' : `every ${repeatInterval}`)}</td>
          <td class="fixed">
            <Time at={nextRunAt} relative />
          </td>
          <td class="fixed">
            <Time at={lastRunAt} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

interface PagerProps {
  readonly skip: number;
  readonly shown: number;
  readonly total: number;
}

function Pager({ skip, shown, total }: PagerProps): JSX.Element {
  const { segments, query } = place.value;
  const at = (position: number): string =>
    hrefOf(segments, { ...Object.fromEntries(query), skip: position === 0 ? '' : String(position) });
  return (
    <nav class="pager" aria-label="Pages of the list">
      <span>{total === 0 ? 'none' : `${skip + 1} to ${skip + shown} of ${total}`}</span>
      {skip > 0 && <a href={at(Math.max(0, skip - pageSize))}>Previous</a>}
      {skip + shown < total && <a href={at(skip + shown)}>Next</a>}
    </nav>
  );
}
