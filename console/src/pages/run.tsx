import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Run, RunTask } from '#client/gateway.ts';
import { goTo, hrefOf } from '../address.ts';
import { change } from '../change.ts';
import { useLive } from '../live.ts';
import { useLoad } from '../load.ts';
import { Action } from '../parts/action.tsx';
import { Facts, Panel, Text, Time } from '../parts/basics.tsx';
import { LiveSign } from '../parts/live-sign.tsx';
import { Loading } from '../parts/loading.tsx';
import { Status } from '../parts/status.tsx';
import { useRetryKey } from '../retry-key.ts';
import { gateway, may } from '../session.ts';
import { errorKind, indentedJson, memberText } from '../texts.ts';
import { ApprovalTable } from './approvals.tsx';
import { tookText } from './run-table.tsx';
import { isUndecided, Timeline } from './timeline.tsx';

const tasksShown = 1_000;

/** One run: what it is, what it did and does, and what people can do about it. */
export function RunPage({ id }: { readonly id: string }): JSX.Element {
  const loaded = useLoad(
    async (signal) => {
      const path = { id };
      const [run, tasks] = await Promise.all([
        gateway.readRun({ path, signal }),
        gateway.listRunTasks({ path, query: { limit: tasksShown }, signal }),
      ]);
      return { run: run.value, text: run.text, tasks: tasks.value.list, hasMore: tasks.value.cursor !== undefined };
    },
    [id],
  );
  const { value } = loaded;
  const liveness = useLive({ run: id, every: 500, isOver: value !== undefined && isOver(value.run) }, loaded.again);
  return (
    <Loading of={loaded}>
      {({ run, text, tasks, hasMore }) => (
        <>
          {!isOver(run) && <LiveSign of={liveness} />}
          <RunFacts run={run} />
          <RunActions run={run} tasks={tasks} done={loaded.again} />
          {run.error !== undefined && <RunFault run={run} />}
          {!isOver(run) && <Waiting run={run} />}
          <Timeline run={run} tasks={tasks} decided={loaded.again} />
          {hasMore && <p class="note">The first {tasksShown} tasks.</p>}
          <Values text={text} />
        </>
      )}
    </Loading>
  );
}

function isOver({ status }: Run): boolean {
  return status === 'completed' || status === 'faulted' || status === 'cancelled';
}

function RunFacts({ run }: { readonly run: Run }): JSX.Element {
  const { automation, parent, startedBy } = run;
  return (
    <Facts
      of={[
        ['State', <Status of={run.status} />],
        ['Suspended', run.suspendedBy === undefined ? undefined : suspensionText[run.suspendedBy]],
        ['Run', <code>{run.id}</code>],
        [
          'Workflow',
          <a href={hrefOf(['workflows', run.workflow], { version: run.version })}>{`${run.workflow} ${run.version}`}</a>,
        ],
        ['Automation', automation === undefined ? undefined : <a href={hrefOf(['automations', automation])}>{automation}</a>],
        [
          'Started by',
          startedBy.principal ?? (
            <>
              the schedule, due <Time at={startedBy.due} />
            </>
          ),
        ],
        ['Involved', run.involved.map(({ principal, as }) => `${principal} (${as.join(', ')})`).join('; ')],
        ['Parent', parent === undefined ? undefined : <a href={hrefOf(['runs', parent.run])}>{parent.run}</a>],
        ['Started', <Time at={run.startedAt ?? run.createdAt} />],
        ['Ended', run.endedAt === undefined ? undefined : <Time at={run.endedAt} />],
        ['Took', tookText(run)],
      ]}
    />
  );
}

const suspensionText: Readonly<Record<NonNullable<Run['suspendedBy']>, string>> = {
  people: 'Somebody suspended it.',
  'unknown-outcome': 'People have to decide about a call.',
  'delegation-lost': 'Somebody who answers for its calls is gone, or may not make them. Resume it once that is mended.',
  'person-gone': 'The principal in whose name it calls was removed or blocked.',
};

interface RunActionsProps {
  readonly run: Run;
  readonly tasks: readonly RunTask[];
  readonly done: () => void;
}

function RunActions({ run, tasks, done }: RunActionsProps): JSX.Element {
  const path = { id: run.id };
  const withKey = useRetryKey();
  const then = async (made: Promise<unknown>): Promise<void> => {
    await made;
    done();
  };
  return (
    <div class="buttons">
      {!isOver(run) && may('cancelRun') && (
        <Action
          tone="danger"
          confirm="Cancel this run? No further task begins, and a call in flight is aborted: it may have happened."
          act={() => then(change('cancelRun', { path }))}
        >
          Cancel the run
        </Action>
      )}
      {!isOver(run) && run.status !== 'suspended' && may('suspendRun') && (
        <Action act={() => then(change('suspendRun', { path }))}>Suspend</Action>
      )}
      {run.status === 'suspended' && !tasks.some(isUndecided) && may('resumeRun') && (
        <Action act={() => then(change('resumeRun', { path, body: {} }))}>Resume</Action>
      )}
      {may('rerunRun') && (
        <Action
          act={async () => {
            const { value } = await withKey(run.id, (idempotencyKey) => change('rerunRun', { path, idempotencyKey }));
            goTo(hrefOf(['runs', value.id]));
          }}
          confirm="Start a new run with the same input and the same version of the workflow?"
        >
          Run again
        </Action>
      )}
    </div>
  );
}

function RunFault({ run: { error } }: { readonly run: Run }): JSX.Element | null {
  if (error === undefined) return null;
  return (
    <div class="failure" role="alert">
      <p>
        <strong>
          {errorKind(error.type)} ({error.status})
        </strong>{' '}
        {error.title}
      </p>
      {error.detail !== undefined && <p class="lines">{error.detail}</p>}
      <p class="note">
        at <code>{error.instance}</code>
      </p>
    </div>
  );
}

/** The approvals that hold the run up. */
function Waiting({ run }: { readonly run: Run }): JSX.Element | null {
  const { value, again } = useLoad(
    async (signal) => (await gateway.listApprovals({ query: { run: run.id, status: 'waiting' }, signal })).value.list,
    [run.id],
  );
  useEffect(again, [run, again]);
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
