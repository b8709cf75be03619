import type { JSX } from 'preact';
import type { ListAutomationsData, ListedAutomation } from '#client/gateway.ts';
import { gatewayAddress, hrefOf, place } from '../address.ts';
import { isPaused, scheduleWords } from '../automations/schedule.ts';
import { useLive } from '../live.ts';
import { useLoad } from '../load.ts';
import { Empty, Table, Time } from '../parts/basics.tsx';
import { Input, Select } from '../parts/field.tsx';
import { Filters } from '../parts/filters.tsx';
import { Icon } from '../parts/icon.tsx';
import { Later } from '../parts/later.tsx';
import { Loading } from '../parts/loading.tsx';
import { NeededRight } from '../parts/needed-right.tsx';
import { Outcomes } from '../parts/outcomes.tsx';
import { Status } from '../parts/status.tsx';
import { gateway, may } from '../session.ts';
import { seenText } from '../texts.ts';
import { NextDue } from './automation.tsx';

type Query = NonNullable<ListAutomationsData['query']>;
const pageSize = 50;

const sorts = [
  ['name', 'name'],
  ['lastRunAt', 'last scheduled run'],
  ['nextRunAt', 'next due'],
  ['data.lastUpdated', 'last change'],
] as const;

/** The catalogue: search, the last outcomes of each automation, and the way to it. */
export function Automations(): JSX.Element {
  const { query } = place.value;
  const get = (name: string): string => query.get(name) ?? '';
  const skip = Number(get('skip')) || 0;
  const sort = get('sort') || 'name';
  const loaded = useLoad(
    async (signal) => {
      const order = sort === 'name' ? 1 : -1;
      const asked: Query = { limit: pageSize, skip, sort: sort as NonNullable<Query['sort']>, order, runs: 10 };
      const [contains, owner] = [get('contains'), get('owner')];
      const containsField = (get('in') || 'name') as NonNullable<Query['containsField']>;
      const filter = { ...(contains !== '' && { contains, containsField }), ...(owner !== '' && { owner }) };
      return (await gateway.listAutomations({ query: { ...asked, ...filter }, signal })).value;
    },
    [query.toString()],
  );
  useLive({ every: 3_000 }, loaded.again);
  return (
    <>
      <Acts />
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
        <Input label="Owner" name="owner" value={get('owner')} />
        <Select label="Sorted by" name="sort" value={sort} options={sorts} />
      </Filters>
      {get('view') === 'import' && <Later name="import" load={importPart} />}
      <Loading of={loaded}>
        {({ list, total }) => (
          <>
            {list.length === 0 ? <None isFiltered={query.size > 0} /> : <AutomationTable automations={list} />}
            <Pager skip={skip} shown={list.length} total={total} />
          </>
        )}
      </Loading>
    </>
  );
}

const importPart = async () => (await import('../automations/import.tsx')).Import;

function Acts(): JSX.Element {
  return (
    <div class="page-acts">
      {may('createAutomation') ? (
        <a class="button main" href={hrefOf(['automations', 'new'])}>
          <Icon of="add" /> New automation
        </a>
      ) : (
        <NeededRight of="createAutomation" to="create an automation" />
      )}
      {may('exportAutomations') && (
        <a class="button" href={new URL('automation_catalog/export', gatewayAddress).href} download="catalogue.ndjson">
          <Icon of="export" /> Export
        </a>
      )}
      {may('importAutomations') && (
        <a class="button" href={hrefOf(['automations'], { view: 'import' })}>
          <Icon of="import" /> Import
        </a>
      )}
    </div>
  );
}

function None({ isFiltered }: { readonly isFiltered: boolean }): JSX.Element {
  if (isFiltered) return <Empty>No automation fits.</Empty>;
  return <Empty>There is no automation yet. One runs a workflow: by hand, or by a schedule.</Empty>;
}

function AutomationTable({ automations }: { readonly automations: readonly ListedAutomation[] }): JSX.Element {
  return (
    <Table
      label="Automations"
      columns={['Automation', 'Schedule', 'Next due', 'Last runs', 'Last scheduled run']}
      extra={[2, 3, 5]}
    >
      {automations.map((automation) => (
        <tr key={automation._id}>
          <td class="grow">
            <a href={hrefOf(['automations', automation._id])}>{seenText(automation.name)}</a>
            <div class="soft">{seenText(automation.data?.description ?? automation.data?.workflowId ?? '')}</div>
            <Skip automation={automation} />
            {(automation.nextRunAt !== undefined || isPaused(automation)) && (
              <div class="on-narrow">
                <NextDue automation={automation} /> <span class="soft">{scheduleWords(automation)}</span>
              </div>
            )}
          </td>
          <td>{scheduleWords(automation) || <span class="none">–</span>}</td>
          <td class="fixed">
            <NextDue automation={automation} />
          </td>
          <td>
            <Outcomes of={automation.lastRuns ?? []} />
          </td>
          <td class="fixed">
            <Time at={automation.lastRunAt} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** Why the last due time began no run, until one begins again. */
function Skip({ automation: { lastSkip, lastRunAt = '' } }: { readonly automation: ListedAutomation }): JSX.Element | null {
  if (lastSkip === undefined || lastSkip.due <= lastRunAt) return null;
  return (
    <div>
      <Status of="failed" label={lastSkip.code} /> <span class="soft">{lastSkip.reason}</span>
    </div>
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
