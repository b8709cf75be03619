import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Adapter, Automation, ListedRun } from '#client/gateway.ts';
import { hrefOf } from '../address.ts';
import { useLive } from '../live.ts';
import { useLoad } from '../load.ts';
import { Empty, Panel, Table, Time } from '../parts/basics.tsx';
import { LiveSign } from '../parts/live-sign.tsx';
import { Loading } from '../parts/loading.tsx';
import { Status } from '../parts/status.tsx';
import { gateway, may } from '../session.ts';
import { AdapterTable } from './adapters.tsx';
import { ApprovalTable } from './approvals.tsx';
import { RunTable } from './run-table.tsx';

const day = 86_400_000;

/** What is wrong first, then what happened in the last day, and what comes next. */
export function Overview(): JSX.Element {
  const runs = useLoad(async (signal) => {
    const since = new Date(Math.floor((Date.now() - day) / 60_000) * 60_000).toISOString();
    const [recent, suspended] = await Promise.all([
      gateway.listRuns({ query: { since, limit: 1000 }, signal }),
      gateway.listRuns({ query: { status: 'suspended', limit: 100 }, signal }),
    ]);
    return { since, recent: recent.value.list, hasMore: recent.value.cursor !== undefined, suspended: suspended.value.list };
  }, []);
  const liveness = useLive({ every: 3_000 }, runs.again);
  return (
    <>
      <LiveSign of={liveness} />
      <WaitingApprovals runs={runs.value} />
      <Loading of={runs}>{(value) => <RunPanels {...value} />}</Loading>
      {may('listAdapters') && <Adapters />}
      {may('listAutomations') && <Schedules />}
    </>
  );
}

/** Asked again whenever the runs are. */
function WaitingApprovals({ runs }: { readonly runs: unknown }): JSX.Element | null {
  const { value, again } = useLoad(
    async (signal) => (await gateway.listApprovals({ query: { status: 'waiting', limit: 20 }, signal })).value.list,
    [],
  );
  useEffect(() => {
    if (runs !== undefined) again();
  }, [runs, again]);
  if (value === undefined || value.length === 0) return null;
  return (
    <Panel title="Waiting for approval" aside={<a href={hrefOf(['approvals'])}>All approvals</a>}>
      <ApprovalTable approvals={value} />
    </Panel>
  );
}

interface RunPanelsProps {
  readonly since: string;
  readonly recent: readonly ListedRun[];
  readonly hasMore: boolean;
  readonly suspended: readonly ListedRun[];
}

const outcomes = ['running', 'waiting', 'pending', 'suspended', 'faulted', 'cancelled', 'completed'] as const;

function RunPanels({ since, recent, hasMore, suspended }: RunPanelsProps): JSX.Element {
  const faulted = recent.filter(({ status }) => status === 'faulted').slice(0, 10);
  return (
    <>
      {suspended.length > 0 && (
        <Panel title="Suspended: people decide">
          <RunTable runs={suspended} label="Suspended runs" />
        </Panel>
      )}
      {faulted.length > 0 && (
        <Panel title="Faulted in the last day">
          <RunTable runs={faulted} label="Faulted runs" />
        </Panel>
      )}
      <Panel title="Runs of the last day">
        {recent.length === 0 ? (
          <Empty>No runs.</Empty>
        ) : (
          <ul class="counts">
            {outcomes.map((status) => {
              const count = recent.filter((run) => run.status === status).length;
              return (
                <li key={status} class={count === 0 ? 'zero' : undefined}>
                  <a href={hrefOf(['runs'], { status, since })}>
                    <strong>
                      {count}
                      {hasMore && '+'}
                    </strong>
                    <Status of={status} />
                  </a>
                </li>
              );
            })}
          </ul>
        )}
      </Panel>
    </>
  );
}

const asFaultsFirst: Readonly<Record<Adapter['state'], number>> = { offline: 0, degraded: 1, unknown: 2, online: 3 };

function Adapters(): JSX.Element {
  const adapters = useLoad(async (signal) => (await gateway.listAdapters({ signal })).value.list, []);
  useEffect(() => {
    const timer = setInterval(adapters.again, 15_000);
    return () => clearInterval(timer);
  }, [adapters.again]);
  return (
    <Panel title="Adapters">
      <Loading of={adapters}>
        {(list) =>
          list.length === 0 ? (
            <Empty>The configuration names no adapter.</Empty>
          ) : (
            <AdapterTable adapters={list.toSorted((one, other) => asFaultsFirst[one.state] - asFaultsFirst[other.state])} />
          )
        }
      </Loading>
    </Panel>
  );
}

function Schedules(): JSX.Element {
  const loaded = useLoad(async (signal) => {
    // Automations without the field come first in this order, so all of them are asked for.
    const { value } = await gateway.listAutomations({ query: { sort: 'nextRunAt', order: 1, limit: 1000 }, signal });
    return value.list;
  }, []);
  return (
    <>
      <Skipped automations={loaded.value ?? []} />
      <Panel title="Next due">
        <Loading of={loaded}>
          {(list: readonly Automation[]) => <NextDue of={list.filter(({ nextRunAt }) => nextRunAt !== undefined).slice(0, 8)} />}
        </Loading>
      </Panel>
    </>
  );
}

/** Due times that began no run, until a run begins again. */
function Skipped({ automations }: { readonly automations: readonly Automation[] }): JSX.Element | null {
  const skipped = automations.filter(({ lastSkip, lastRunAt = '' }) => lastSkip !== undefined && lastSkip.due > lastRunAt);
  if (skipped.length === 0) return null;
  return (
    <Panel title="Scheduled, and did not run">
      <Table label="Automations whose last due time was skipped" columns={['Automation', 'Due', 'Why']}>
        {skipped.map(({ _id, name, lastSkip }) => (
          <tr key={_id}>
            <td class="grow">
              <a href={hrefOf(['automations', _id])}>{name}</a>
            </td>
            <td class="fixed">
              <Time at={lastSkip?.due} />
            </td>
            <td>
              <Status of="failed" label={lastSkip?.code ?? ''} />
              <div class="soft">{lastSkip?.reason}</div>
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}

function NextDue({ of }: { readonly of: readonly Automation[] }): JSX.Element {
  if (of.length === 0) return <Empty>No automation has a schedule.</Empty>;
  return (
    <Table label="Automations that are due next" columns={['Automation', 'Due', 'Local time']} extra={[3]}>
      {of.map(({ _id, name, nextRunAt }) => (
        <tr key={_id}>
          <td class="grow">
            <a href={hrefOf(['automations', _id])}>{name}</a>
          </td>
          <td class="fixed">
            <Time at={nextRunAt} relative />
          </td>
          <td class="fixed">
            <Time at={nextRunAt} />
          </td>
        </tr>
      ))}
    </Table>
  );
}
