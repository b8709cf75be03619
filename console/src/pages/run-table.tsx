import type { JSX } from 'preact';
import { durationText, itemsText, type ListedRun } from '#client/gateway.ts';
import { hrefOf } from '../address.ts';
import { Table, Time } from '../parts/basics.tsx';
import { Status } from '../parts/status.tsx';
import { errorKind, seenText } from '../texts.ts';

/** Runs, the newest first. */
export function RunTable({ runs, label }: { readonly runs: readonly ListedRun[]; readonly label: string }): JSX.Element {
  return (
    <Table label={label} columns={['State', 'Run', 'Started by', 'Started', 'Took', 'Error']} extra={[3, 5]}>
      {runs.map((run) => (
        <tr key={run.id}>
          <td>
            <Status of={run.status} />
          </td>
          <td class="grow">
            <a href={hrefOf(['runs', run.id])}>{seenText(run.automationName ?? run.workflow)}</a>
            <div class="soft">
              {run.automationName !== undefined && `${seenText(run.workflow)} `}
              {seenText(run.version)} <code class="fixed">{shortId(run.id)}</code>
            </div>
            {run.items !== undefined && <div class="soft">{itemsText(run.items)}</div>}
          </td>
          <td>{seenText(run.startedBy.principal ?? 'schedule')}</td>
          <td class="fixed">
            <Time at={run.createdAt} />
          </td>
          <td class="fixed number">{tookText(run)}</td>
          <td class="grow">
            {run.error !== undefined && <Fault of={run.error} />}
            {run.suspendedBy !== undefined && <span>{suspensionText[run.suspendedBy]}</span>}
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** The end of an id: ids of one minute begin alike. */
function shortId(id: string): string {
  return id.length > 12 ? `…${id.slice(-12)}` : id;
}

/** How long a run took, or takes so far. */
export function tookText({ startedAt, endedAt }: Pick<ListedRun, 'startedAt' | 'endedAt'>): string {
  if (startedAt === undefined) return '–';
  return durationText((endedAt === undefined ? Date.now() : Date.parse(endedAt)) - Date.parse(startedAt));
}

/** The kind of an error, and the first line of its detail. */
function Fault({ of: { type, title, detail = title ?? '' } }: { readonly of: NonNullable<ListedRun['error']> }): JSX.Element {
  const [line = ''] = detail.split('\n');
  return (
    <>
      {seenText(errorKind(type))}
      <div class="soft">{seenText(line.length > 120 ? `${line.slice(0, 120)}…` : line)}</div>
    </>
  );
}

/** Why a run is suspended. */
export const suspensionText: Readonly<Record<NonNullable<ListedRun['suspendedBy']>, string>> = {
  people: 'Somebody suspended it.',
  'unknown-outcome': 'People have to decide about a call.',
  'delegation-lost': 'Somebody who answers for its calls is gone, or may not make them. Resume it once that is mended.',
  'person-gone': 'The principal in whose name it calls was removed or blocked.',
  'store-loss': 'The store lost commits while the run was under way. It goes on after POST /runs/release.',
};
