import type { JSX } from 'preact';
import { goTo, hrefOf, place } from '../address.ts';
import { change } from '../change.ts';
import { useLoad } from '../load.ts';
import { Action } from '../parts/action.tsx';
import { Panel, Table } from '../parts/basics.tsx';
import { Select } from '../parts/field.tsx';
import { Loading } from '../parts/loading.tsx';
import { NeededRight } from '../parts/needed-right.tsx';
import { TextDiff } from '../parts/text-diff.tsx';
import { gateway, may } from '../session.ts';

interface VersionsProps {
  readonly id: string;
  /** The newest first. */
  readonly versions: readonly string[];
  readonly again: () => void;
}

/** All versions of a workflow: what differs between two, and which may go. */
export function Versions({ id, versions, again }: VersionsProps): JSX.Element {
  const [newest] = versions.filter((version) => !isTrial(version));
  return (
    <>
      <Compare id={id} versions={versions} />
      <Panel title="Versions">
        <Table label="Versions" columns={['Version', 'What it is', 'Open', 'Delete']}>
          {versions.map((version) => (
            <tr key={version}>
              <td class="grow">
                <a href={hrefOf(['workflows', id], { version })}>{version}</a>
              </td>
              <td>{version === newest ? 'newest release' : isTrial(version) ? 'for development' : 'release'}</td>
              <td>{may('createWorkflow') && <a href={hrefOf(['workflows', id], { version, view: 'edit' })}>Edit</a>}</td>
              <td>
                {may('deleteWorkflow') && (
                  <Action
                    tone="danger"
                    confirm={`Delete version ${version} of ${id}? Its bytes can be stored again, and other bytes not under this version.`}
                    act={async () => {
                      await change('deleteWorkflow', { path: { id }, query: { version } });
                      if (versions.length === 1) goTo(hrefOf(['workflows']));
                      else again();
                    }}
                  >
                    Delete
                  </Action>
                )}
              </td>
            </tr>
          ))}
        </Table>
        {may('deleteWorkflow') ? (
          <div class="buttons">
            <Action
              tone="danger"
              confirm={`Delete ${id} with all its versions?`}
              act={async () => {
                await change('deleteWorkflow', { path: { id } });
                goTo(hrefOf(['workflows']));
              }}
            >
              Delete all versions
            </Action>
          </div>
        ) : (
          <NeededRight of="deleteWorkflow" to="delete this workflow" />
        )}
      </Panel>
    </>
  );
}

function isTrial(version: string): boolean {
  return version.split('+')[0]?.includes('-') === true;
}

function Compare({ id, versions }: Pick<VersionsProps, 'id' | 'versions'>): JSX.Element | null {
  const { segments, query } = place.value;
  const to = query.get('to') ?? versions[0] ?? '';
  const from = query.get('from') ?? versions[versions.indexOf(to) + 1] ?? versions.at(-1) ?? '';
  const loaded = useLoad(
    async (signal) => {
      const read = async (version: string): Promise<string> =>
        (await gateway.readWorkflow({ path: { id }, query: { version }, headers: { Accept: 'application/yaml' }, signal })).text;
      const [before, after] = await Promise.all([read(from), read(to)]);
      return { before, after };
    },
    [id, from, to],
  );
  if (versions.length < 2) return null;
  const choose = (other: Readonly<Record<string, string>>): void =>
    goTo(hrefOf(segments, { ...Object.fromEntries(query), from, to, ...other }), { replace: true });
  const options = versions.map((version) => [version, version] as const);
  return (
    <Panel title="What differs">
      <div class="filters">
        <Select label="From" name="from" value={from} options={options} onChange={(version) => choose({ from: version })} />
        <Select label="To" name="to" value={to} options={options} onChange={(version) => choose({ to: version })} />
      </div>
      <Loading of={loaded}>
        {({ before, after }) => <TextDiff before={before} after={after} label={`What differs between ${from} and ${to}`} />}
      </Loading>
    </Panel>
  );
}
