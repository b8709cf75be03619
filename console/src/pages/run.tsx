import type { JSX } from 'preact';
import { useCallback } from 'preact/hooks';
import { itemsText, type Run } from '#client/gateway.ts';
import { hrefOf } from '../address.ts';
import { Subject } from '../frame/subject.ts';
import { useLive } from '../live.ts';
import { useLoad } from '../load.ts';
import { Facts, Panel, Text, Time } from '../parts/basics.tsx';
import { LiveSign } from '../parts/live-sign.tsx';
import { Failure, Loading } from '../parts/loading.tsx';
import { Status } from '../parts/status.tsx';
import { useRunTasks } from '../run-tasks.ts';
import { gateway, may } from '../session.ts';
import { errorKind, indentedJson, memberText, seenText } from '../texts.ts';
import { ApprovalTable } from './approvals.tsx';
import { InvolvedPeople } from './involved-people.tsx';
import { isOver, RunActions } from './run-actions.tsx';
import { RunGraph } from './run-graph.tsx';
import { suspensionText, tookText } from './run-table.tsx';
import { Timeline } from './timeline.tsx';

/** One run: what it is, what it did and does, and what people can do about it. */
export function RunPage({ id }: { readonly id: string }): JSX.Element {
  const loaded = useLoad(
    async (signal) => {
      const { value, text } = await gateway.readRun({ path: { id }, signal });
      return { run: value, text };
    },
    [id],
  );
  const tasks = useRunTasks(id);
  const again = useCallback(() => {
    loaded.again();
    tasks.again();
  }, [loaded.again, tasks.again]);
  const { value } = loaded;
  const liveness = useLive({ run: id, every: 500, isOver: value !== undefined && isOver(value.run) }, again);
  return (
    <Loading of={loaded}>
      {({ run, text }) => (
        <>
          <Subject title={run.automationName ?? run.workflow} id={run.id} />
          {!isOver(run) && <LiveSign of={liveness} />}
          <RunFacts run={run} />
          <RunActions run={run} input={memberText(text, 'input') ?? ''} tasks={tasks.tasks ?? []} done={again} />
          {run.error !== undefined && <RunFault run={run} />}
          {!isOver(run) && <Waiting run={run} />}
          {tasks.error !== undefined && <Failure error={tasks.error} again={tasks.again} />}
          {tasks.tasks !== undefined && (
            <Timeline run={run} tasks={tasks.tasks} decided={again} note={<TaskCount of={tasks} />} />
          )}
          {tasks.tasks !== undefined && may('readWorkflow') && <RunGraph run={run} tasks={tasks.tasks} />}
          <Values text={text} />
          <Panel title="Who is involved">
            <InvolvedPeople of={run.involved} />
          </Panel>
        </>
      )}
    </Loading>
  );
}

function TaskCount({
  of: { tasks = [], isLoading, isCut },
}: {
  readonly of: ReturnType<typeof useRunTasks>;
}): JSX.Element | null {
  const count = tasks.length.toLocaleString('en');
  if (isCut) return <p class="note">The run has more tasks. These are the first {count}.</p>;
  return isLoading && tasks.length > 0 ? <p class="note">{count} tasks so far. The console asks for the others…</p> : null;
}

function RunFacts({ run }: { readonly run: Run }): JSX.Element {
  const { automation, automationName, parent, startedBy, items } = run;
  return (
    <Facts
      of={[
        ['State', <Status of={run.status} />],
        ['Suspended', run.suspendedBy === undefined ? undefined : suspensionText[run.suspendedBy]],
        [
          'Workflow',
          <a href={hrefOf(['workflows', run.workflow], { version: run.version })}>{`${run.workflow} ${run.version}`}</a>,
        ],
        [
          'Automation',
          automation === undefined ? undefined : (
            <a href={hrefOf(['automations', automation])}>{seenText(automationName ?? automation)}</a>
          ),
        ],
        [
          'Started by',
          startedBy.principal ?? (
            <>
              the schedule, due <Time at={startedBy.due} />
            </>
          ),
        ],
        ['Items', items && itemsText(items)],
        ['Parent', parent === undefined ? undefined : <a href={hrefOf(['runs', parent.run])}>The run that began it</a>],
        ['Started', <Time at={run.startedAt ?? run.createdAt} />],
        ['Ended', run.endedAt === undefined ? undefined : <Time at={run.endedAt} />],
        ['Took', tookText(run)],
      ]}
    />
  );
}

function RunFault({ run }: { readonly run: Run }): JSX.Element | null {
  const { error } = run;
  if (error === undefined) return null;
  return (
    <div class="failure" role="alert">
      <p>
        <strong>
          {seenText(errorKind(error.type))} ({error.status})
        </strong>{' '}
        {seenText(error.title ?? '')}
      </p>
      {error.detail !== undefined && <p class="lines">{seenText(error.detail)}</p>}
      <p class="note">
        at <code>{seenText(error.instance)}</code>
      </p>
      <p>
        <a href={hrefOf(['runs', run.id], { tasks: 'failed' })}>Show the tasks that failed</a>
      </p>
    </div>
  );
}

/** The approvals that hold the run up. */
function Waiting({ run }: { readonly run: Run }): JSX.Element | null {
  const { value } = useLoad(
    async (signal) => (await gateway.listApprovals({ query: { run: run.id, status: 'waiting' }, signal })).value.list,
    [run.id],
    run,
  );
  if (value === undefined || value.length === 0) return null;
  return (
    <Panel title="It waits for approval">
      <ApprovalTable approvals={value} />
    </Panel>
  );
}

/** Input and output, with the digits of their numbers. */
function Values({ text }: { readonly text: string }): JSX.Element {
  const input = memberText(text, 'input') ?? '';
  const output = memberText(text, 'output');
  return (
    <div class="columns">
      <Panel title="Input">
        <Text of={indentedJson(input)} label="The input of the run" />
      </Panel>
      {output !== undefined && (
        <Panel title="Output">
          <Text of={indentedJson(output)} label="The output of the run" />
        </Panel>
      )}
    </div>
  );
}
