import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ListedAutomation, ListedRun, ListRunsData } from '#client/gateway.ts';
import { hrefOf } from '../address.ts';
import { scheduleWords } from '../automations/schedule.ts';
import { AdapterPicture, CallPicture, RunPicture } from '../home/pictures.tsx';
import { type HomeFacts, WaitingForYou } from '../home/waiting.tsx';
import { useLive } from '../live.ts';
import { useLoad } from '../load.ts';
import { Empty, Panel, Table, Time } from '../parts/basics.tsx';
import { LiveSign } from '../parts/live-sign.tsx';
import { Loading } from '../parts/loading.tsx';
import { Outcomes } from '../parts/outcomes.tsx';
import { TimeRangePicker } from '../parts/time-range.tsx';
import { gateway, may } from '../session.ts';
import { seenText } from '../texts.ts';

type Query = NonNullable<ListRunsData['query']>;

/** Milliseconds. */
const day = 24 * 3_600_000;
/** Milliseconds between two questions about what sends no event: adapters and statistics. */
const quietly = 15_000;

/** What this person has to do first; then pictures of what happened, and what comes next. */
export function Home(): JSX.Element {
  const facts = useLoad(readFacts, []);
  const liveness = useLive({ every: 3_000 }, facts.again);
  const [round, setRound] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => {
      facts.again();
      setRound((last) => last + 1);
    }, quietly);
    return () => clearInterval(timer);
  }, [facts.again]);
  return (
    <>
      <LiveSign of={liveness} />
      <Loading of={facts}>
        {(value) => (
          <>
            <WaitingForYou facts={value} />
            <TimeRangePicker byDefault="24h" />
            <div class="columns">
              {may('readRunStatistics') && <RunPicture round={round} />}
              {may('readCallStatistics') && <CallPicture round={round} />}
            </div>
            {may('readCallStatistics') && value.adapters.length > 0 && <AdapterPicture adapters={value.adapters} round={round} />}
            {may('listAutomations') && <NextDue of={value.automations} />}
          </>
        )}
      </Loading>
    </>
  );
}

async function readFacts(signal: AbortSignal): Promise<HomeFacts> {
  const since = new Date(Date.now() - day).toISOString();
  const runsOf = async (query: Query): Promise<readonly ListedRun[]> =>
    may('listRuns') ? (await gateway.listRuns({ query: { limit: 100, ...query }, signal })).value.list : [];
  const [approvals, suspended, waiting, running, failed, automations, adapters] = await Promise.all([
    may('listApprovals') ? gateway.listApprovals({ query: { status: 'waiting', limit: 100 }, signal }) : undefined,
    runsOf({ status: 'suspended' }),
    runsOf({ status: 'waiting' }),
    runsOf({ status: 'running' }),
    runsOf({ status: 'faulted', since }),
    // Automations without the field come first in this order, so all of them are asked for.
    may('listAutomations')
      ? gateway.listAutomations({ query: { sort: 'nextRunAt', order: 1, limit: 1000, runs: 10 }, signal })
      : undefined,
    may('listAdapters') ? gateway.listAdapters({ signal }) : undefined,
  ]);
  return {
    approvals: approvals?.value.list ?? [],
    suspended,
    undecided: [...waiting, ...running].filter(({ items }) => (items?.unknown ?? 0) > 0),
    failed,
    automations: automations?.value.list ?? [],
    adapters: adapters?.value.list ?? [],
  };
}

function NextDue({ of }: { readonly of: readonly ListedAutomation[] }): JSX.Element {
  const due = of.filter(({ nextRunAt }) => nextRunAt !== undefined).slice(0, 8);
  return (
    <Panel title="Next due" aside={<a href={hrefOf(['automations'], { sort: 'nextRunAt' })}>All automations</a>}>
      {due.length === 0 ? (
        <Empty>No automation has a schedule.</Empty>
      ) : (
        <Table label="Automations that are due next" columns={['Automation', 'Due', 'Schedule', 'Last runs']} extra={[3]}>
          {due.map((automation) => (
            <tr key={automation._id}>
              <td class="grow">
                <a href={hrefOf(['automations', automation._id])}>{seenText(automation.name)}</a>
              </td>
              <td class="fixed">
                <Time at={automation.nextRunAt} />
              </td>
              <td>{scheduleWords(automation)}</td>
              <td>
                <Outcomes of={automation.lastRuns ?? []} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}
