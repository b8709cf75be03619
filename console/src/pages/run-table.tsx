import type { JSX } from 'preact';
import { durationText, type ListedRun } from '#client/gateway.ts';
import { hrefOf } from '../address.ts';
import { Table, Time } from '../parts/basics.tsx';
import { Status } from '../parts/status.tsx';
import { errorKind } from '../texts.ts';

/** Runs, the newest first. */
export function RunTable({ runs, label }: { readonly runs: readonly ListedRun[]; readonly label: string }): JSX.Element {
  return (
    <Table label={label} columns={['State', 'Run', 'Workflow', 'Started by', 'Created', 'Took', 'Error']} extra={[4, 5, 6, 7]}>
      {runs.map((run) => (
        <tr key={run.id}>
          <td>
            <Status of={run.status} />
          </td>
          <td>
            <a href={hrefOf(['runs', run.id])}>
              <code>{shortId(run.id)}</code>
            </a>
          </td>
          <td class="grow">
            {run.workflow} <span class="soft">{run.version}</span>
          </td>
          <td>{run.startedBy.principal ?? 'schedule'}</td>
          <td class="fixed">
            <Time at={run.createdAt} />
          </td>
          <td class="fixed number">{tookText(run)}</td>
          <td>{run.error === undefined ? '' : errorKind(run.error.type)}</td>
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
