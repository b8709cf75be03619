import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ListedRun, RunDecision, RunTask } from '#client/gateway.ts';
import { hrefOf } from '../address.ts';
import { change } from '../change.ts';
import { Subject } from '../frame/subject.ts';
import { useLive } from '../live.ts';
import { useLoad } from '../load.ts';
import { Empty, Panel, Time } from '../parts/basics.tsx';
import { LiveSign } from '../parts/live-sign.tsx';
import { Failure, Loading } from '../parts/loading.tsx';
import { gateway, may } from '../session.ts';
import { isUndecided } from '../task-tree.ts';
import { countText, seenText } from '../texts.ts';
import { DecisionForm, decisionBody, Evidence, type Found } from './decision.tsx';
import { TaskCalls } from './task-calls.tsx';

/** A call, or the calls of the items of a batch, about which people have to decide. */
interface Undecided {
  readonly key: string;
  readonly run: ListedRun;
  readonly task: RunTask;
  /** Of a batch. */
  readonly items: number | undefined;
}

/** Runs that the page asks about. */
const most = 100;

/** Everything whose outcome is unknown, so that one decision with one reason can be for several. */
export function UndecidedCalls(): JSX.Element {
  const loaded = useLoad(readUndecided, []);
  const liveness = useLive({ every: 2_000 }, loaded.again);
  return (
    <>
      <Subject title="Calls with an unknown outcome" above={[{ title: 'Runs', href: hrefOf(['runs']) }]} />
      <LiveSign of={liveness} />
      <Loading of={loaded}>
        {(list) =>
          list.length === 0 ? <Empty>No call waits for a decision.</Empty> : <Choose list={list} decided={loaded.again} />
        }
      </Loading>
    </>
  );
}

async function readUndecided(signal: AbortSignal): Promise<readonly Undecided[]> {
  const states = ['suspended', 'waiting', 'running'] as const;
  const pages = await Promise.all(
    states.map(async (status) => (await gateway.listRuns({ query: { status, limit: most }, signal })).value.list),
  );
  const runs = pages.flat().filter((run) => run.suspendedBy === 'unknown-outcome' || (run.items?.unknown ?? 0) > 0);
  return (await Promise.all(runs.slice(0, most).map((run) => undecidedOf(run, signal)))).flat();
}

async function undecidedOf(run: ListedRun, signal: AbortSignal): Promise<readonly Undecided[]> {
  const path = { id: run.id };
  const statuses = run.items === undefined ? (['suspended'] as const) : (['suspended', 'running'] as const);
  const pages = await Promise.all(
    statuses.map(async (status) => (await gateway.listRunTasks({ path, query: { status }, signal })).value.list),
  );
  return pages.flat().flatMap((task) => {
    const items = task.items?.unknown ?? 0;
    if (items === 0 && !isUndecided(task)) return [];
    return [{ key: `${run.id} ${task.id}`, run, task, items: items === 0 ? undefined : items }];
  });
}

function Choose({ list, decided }: { readonly list: readonly Undecided[]; readonly decided: () => void }): JSX.Element {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [failed, setFailed] = useState<ReadonlyMap<string, unknown>>(new Map());
  const picked = list.filter(({ key }) => chosen.has(key));
  const choose = (key: string, isChosen: boolean): void => {
    const next = new Set(chosen);
    if (isChosen) next.add(key);
    else next.delete(key);
    setChosen(next);
  };
  const send = async (found: Found): Promise<void> => {
    const failures = new Map<string, unknown>();
    for (const one of picked) {
      const rawBody = decisionBody(aboutOf(one), found);
      await change('decideRun', { path: { id: one.run.id }, rawBody }).catch((error: unknown) => failures.set(one.key, error));
    }
    setFailed(failures);
    setChosen(new Set(failures.keys()));
    decided();
  };
  return (
    <>
      <p>
        <button type="button" onClick={() => setChosen(new Set(picked.length === list.length ? [] : list.map(({ key }) => key)))}>
          {picked.length === list.length ? 'Choose none' : `Choose all ${list.length}`}
        </button>
      </p>
      <ul class="cards">
        {list.map((one) => (
          <li key={one.key}>
            <Card one={one} isChosen={chosen.has(one.key)} choose={choose} />
            {failed.has(one.key) && <Failure error={failed.get(one.key)} />}
          </li>
        ))}
      </ul>
      {!may('decideRun') && (
        <p class="may not">You may not decide. The role admin does, or a principal with a right to decideRun.</p>
      )}
      {may('decideRun') && picked.length > 0 && (
        <Panel title={picked.length === 1 ? 'The decision' : `One decision for ${picked.length} calls`}>
          <DecisionForm send={send} words={picked.length === 1 ? 'Decide' : `Decide all ${picked.length}`} />
        </Panel>
      )}
    </>
  );
}

function aboutOf({ task, items }: Undecided): Pick<RunDecision, 'expected' | 'items' | 'task'> {
  return items === undefined ? { task: task.id } : { task: task.id, items: 'unknown', expected: items };
}

interface CardProps {
  readonly one: Undecided;
  readonly isChosen: boolean;
  readonly choose: (key: string, isChosen: boolean) => void;
}

function Card({ one: { key, run, task, items }, isChosen, choose }: CardProps): JSX.Element {
  const name = seenText(run.automationName ?? run.workflow);
  return (
    <>
      <label class="choice">
        <input type="checkbox" checked={isChosen} onChange={(event) => choose(key, event.currentTarget.checked)} />
        <span>
          <strong>{name}</strong>: {seenText(task.name)}{' '}
          {task.label !== undefined && <span class="soft">{seenText(task.label)}</span>}
          {items !== undefined && <> ({countText(items, 'item')} of a batch)</>}
        </span>
      </label>
      <p>
        Since <Time at={task.begin} />. <a href={hrefOf(['runs', run.id])}>The run of {name}</a>
      </p>
      {task.error?.detail !== undefined && <p class="note">{seenText(task.error.detail)}</p>}
      {items === undefined && <TaskCalls run={run.id} task={task} />}
      {items === undefined && may('decideRun') && <Evidence run={run.id} task={task.id} />}
    </>
  );
}
