import type { JSX } from 'preact';
import type { Approval, Automation, ListedRun, ListedWorkflow } from '#client/gateway.ts';
import { goTo, hrefOf, place } from '../address.ts';
import { change } from '../change.ts';
import { useLoad } from '../load.ts';
import { Action } from '../parts/action.tsx';
import { Empty, Panel, Table, Time } from '../parts/basics.tsx';
import { Input, textOf } from '../parts/field.tsx';
import { Loading } from '../parts/loading.tsx';
import { gateway, may } from '../session.ts';
import { seenText } from '../texts.ts';
import { titleOf } from './approvals.tsx';
import { RunTable } from './run-table.tsx';

/** What a person has, and so what ends with them. */
interface Owned {
  readonly automations: readonly (Automation & { readonly as: readonly string[] })[];
  readonly workflows: readonly ListedWorkflow[];
  readonly runs: readonly ListedRun[];
  readonly grants: readonly Approval[];
}

const most = 1_000;

/** Asks for a person, and shows what ends when they are blocked or removed, and what somebody has to take. */
export function LeavingPerson(): JSX.Element {
  const person = place.value.query.get('person') ?? '';
  return (
    <>
      <Panel title="When a colleague leaves">
        <p>
          Block the ids of the person in <code>access.blocked</code> of the configuration, and reload it. From then on no login,
          token, session, stream, schedule, run, grant or call of theirs goes on. Calls that have left end as they would have.
        </p>
        <form
          class="filters"
          aria-label="Ask for a person"
          onSubmit={(event) => {
            event.preventDefault();
            goTo(hrefOf(['access'], { view: 'leaving', person: textOf(event.currentTarget, 'person').trim() }));
          }}
        >
          <Input label="Name or id of the person" name="person" required value={person} />
          <div class="buttons">
            <button type="submit" class="main">
              Show what ends
            </button>
          </div>
        </form>
      </Panel>
      {person !== '' && <WhatEnds key={person} person={person} />}
    </>
  );
}

async function ownedBy(person: string, signal: AbortSignal): Promise<Owned> {
  const listed = async (filter: 'author' | 'owner' | 'scheduler'): Promise<readonly Automation[]> =>
    (await gateway.listAutomations({ query: { [filter]: person, limit: most }, signal })).value.list;
  const started = async (status: 'pending' | 'running' | 'suspended' | 'waiting'): Promise<readonly ListedRun[]> =>
    (await gateway.listRuns({ query: { principal: person, status, limit: most }, signal })).value.list;
  const [authored, scheduled, workflows, runs, granted, waiting] = await Promise.all([
    listed('author'),
    listed('scheduler'),
    may('listWorkflows') ? gateway.listWorkflows({ query: { storer: person, limit: most }, signal }) : undefined,
    Promise.all((['running', 'waiting', 'suspended', 'pending'] as const).map(started)),
    gateway.listApprovals({ query: { status: 'granted', limit: most }, signal }),
    gateway.listApprovals({ query: { status: 'waiting', limit: most }, signal }),
  ]);
  const automations = new Map([...authored, ...scheduled].map((one) => [one._id, one]));
  const parts = (id: string): readonly string[] => [
    ...(authored.some(({ _id }) => _id === id) ? ['wrote it'] : []),
    ...(scheduled.some(({ _id }) => _id === id) ? ['scheduled it'] : []),
  ];
  return {
    automations: [...automations.values()].map((one) => ({ ...one, as: parts(one._id) })),
    workflows: workflows?.value.list ?? [],
    runs: runs.flat(),
    grants: [...granted.value.list, ...waiting.value.list].filter(({ decisions }) =>
      decisions.some(({ as, principal, withdrawn }) => as === 'granted' && principal === person && withdrawn === undefined),
    ),
  };
}

function WhatEnds({ person }: { readonly person: string }): JSX.Element {
  const loaded = useLoad((signal) => ownedBy(person, signal), [person]);
  return (
    <Loading of={loaded}>
      {({ automations, workflows, runs, grants }) => (
        <>
          <OwnedAutomations of={automations} taken={loaded.again} />
          <Panel title="Workflows whose calls count by their rights">
            {workflows.length === 0 ? <Empty>None.</Empty> : <OwnedWorkflows of={workflows} taken={loaded.again} />}
          </Panel>
          <Panel title="Runs that get suspended (person-gone)">
            {runs.length === 0 ? <Empty>None.</Empty> : <RunTable runs={runs} label="Runs of the person" />}
          </Panel>
          <Panel title="Grants that get withdrawn, where the call did not leave yet">
            {grants.length === 0 ? (
              <Empty>None that you can see.</Empty>
            ) : (
              <ul>
                {grants.map((approval) => (
                  <li key={approval.id}>
                    <a href={hrefOf(['approvals', approval.id])}>{titleOf(approval)}</a>
                  </li>
                ))}
              </ul>
            )}
          </Panel>
        </>
      )}
    </Loading>
  );
}

function OwnedAutomations({ of, taken }: { readonly of: Owned['automations']; readonly taken: () => void }): JSX.Element {
  const takeAll = async (): Promise<void> => {
    for (const { _id: id } of of) await change('takeAutomation', { path: { id } });
    taken();
  };
  return (
    <Panel title="Automations that no longer run">
      {of.length === 0 ? (
        <Empty>None.</Empty>
      ) : (
        <>
          <p>Look at each of them: who takes it answers for its calls from then on.</p>
          <Table label="Automations of the person" columns={['Automation', 'Their part', 'Next due']}>
            {of.map(({ _id, name, as, nextRunAt }) => (
              <tr key={_id}>
                <td class="grow">
                  <a href={hrefOf(['automations', _id])}>{seenText(name)}</a>
                </td>
                <td>{as.join(', ')}</td>
                <td class="fixed">
                  <Time at={nextRunAt} />
                </td>
              </tr>
            ))}
          </Table>
          {may('takeAutomation') && (
            <div class="buttons">
              <Action act={takeAll} confirm={`Take ${of.length} automations? You answer for their calls from then on.`}>
                Take all of them
              </Action>
            </div>
          )}
        </>
      )}
    </Panel>
  );
}

function OwnedWorkflows({ of, taken }: { readonly of: Owned['workflows']; readonly taken: () => void }): JSX.Element {
  return (
    <Table label="Workflows of the person" columns={['Workflow', 'Take']}>
      {of.map(({ id }) => (
        <tr key={id}>
          <td class="grow">
            <a href={hrefOf(['workflows', id])}>{seenText(id)}</a>
          </td>
          <td>
            {may('takeWorkflow') && (
              <Action
                act={async () => {
                  await change('takeWorkflow', { path: { id } });
                  taken();
                }}
                confirm={`Take all versions of ${id}? You answer for their calls from then on.`}
              >
                Take it
              </Action>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}
