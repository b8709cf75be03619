import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Automation, AutomationChange } from '#client/gateway.ts';
import { goTo, hrefOf } from '../address.ts';
import { change } from '../change.ts';
import { useLoad } from '../load.ts';
import { Action } from '../parts/action.tsx';
import { Empty, Panel, Table, Time } from '../parts/basics.tsx';
import { Select } from '../parts/field.tsx';
import { Loading } from '../parts/loading.tsx';
import { NeededRight } from '../parts/needed-right.tsx';
import { gateway } from '../session.ts';
import { elementTexts, memberText, seenText, zonedText } from '../texts.ts';
import { type AutomationState, type Difference, differencesOf, isSameRule, putBackText } from './states.ts';

interface HistoryProps {
  readonly automation: Automation;
  readonly etag: string;
  readonly mayChange: boolean;
}

/** A state and the change that led to it. */
interface Entry extends AutomationState, Omit<AutomationChange, 'document'> {}

/** Who changed the automation, what, and when; the difference between two states; and the way back to one. */
export function AutomationHistory({ automation, etag, mayChange }: HistoryProps): JSX.Element {
  const id = automation._id;
  const first = useLoad((signal) => readHistory(id, undefined, signal), [id, etag]);
  const [older, setOlder] = useState<HistoryPage>({ entries: [], cursor: undefined });
  const cursor = older.entries.length === 0 ? first.value?.cursor : older.cursor;
  return (
    <Loading of={first}>
      {({ entries }) => (
        <>
          {entries.length === 0 ? (
            <Empty>No change of it is on record.</Empty>
          ) : (
            <Entries entries={[...entries, ...older.entries]} current={automation} etag={etag} mayChange={mayChange} />
          )}
          {cursor !== undefined && (
            <Action
              act={async () => {
                const page = await readHistory(id, cursor);
                setOlder((last) => ({ entries: [...last.entries, ...page.entries], cursor: page.cursor }));
              }}
            >
              Show older changes
            </Action>
          )}
        </>
      )}
    </Loading>
  );
}

interface HistoryPage {
  readonly entries: readonly Entry[];
  readonly cursor: string | undefined;
}

async function readHistory(id: string, cursor: string | undefined, signal?: AbortSignal): Promise<HistoryPage> {
  const query = cursor === undefined ? {} : { query: { cursor } };
  const { value, text } = await gateway.readAutomationHistory({ path: { id }, ...query, ...(signal && { signal }) });
  const texts = elementTexts(memberText(text, 'list') ?? '[]').map((entry) => memberText(entry, 'document') ?? '{}');
  return { entries: value.list.map((one, at): Entry => ({ ...one, text: texts[at] ?? '{}' })), cursor: value.cursor };
}

interface EntriesProps extends Omit<HistoryProps, 'automation'> {
  /** The newest first. */
  readonly entries: readonly Entry[];
  readonly current: Automation;
}

function Entries({ entries, current, etag, mayChange }: EntriesProps): JSX.Element {
  const [pair, setPair] = useState({ before: Math.min(1, entries.length - 1), after: 0 });
  const after = entries[pair.after];
  return (
    <>
      {!mayChange && <NeededRight of="replaceAutomation" to="put a state back" groups={current.data?.gbac?.write ?? []} />}
      <Table label="Changes" columns={['When', 'Who', 'What', 'Undo']}>
        {entries.map((entry, at) => (
          <tr
            key={entry.at}
            aria-current={at === pair.after ? 'true' : undefined}
            class={at === pair.after ? 'asked' : undefined}
          >
            <td class="fixed">
              <button
                type="button"
                class="link"
                onClick={() => setPair({ before: Math.min(at + 1, entries.length - 1), after: at })}
              >
                <Time at={entry.at} />
              </button>
            </td>
            <td>{entry.principal === '' ? 'a command on the store' : seenText(entry.principal)}</td>
            <td class="grow">
              {entry.change}
              {entry.change !== 'created' && <span class="soft"> {partNames(entries, at)}</span>}
            </td>
            <td>{at > 0 && mayChange && <PutBack entry={entry} current={current} etag={etag} newest={entries[0] ?? entry} />}</td>
          </tr>
        ))}
      </Table>
      {after !== undefined && (
        <Panel title="Difference">
          {entries.length > 1 && (
            <div class="pair">
              <Choice label="From" entries={entries} value={pair.before} choose={(before) => setPair({ ...pair, before })} />
              <Choice label="To" entries={entries} value={pair.after} choose={(to) => setPair({ ...pair, after: to })} />
            </div>
          )}
          <Differences of={differencesOf(pair.before === pair.after ? undefined : entries[pair.before], after)} />
        </Panel>
      )}
    </>
  );
}

function partNames(entries: readonly Entry[], at: number): string {
  const entry = entries[at];
  const parts = entry === undefined ? [] : differencesOf(entries[at + 1], entry).map(({ part }) => part);
  return entries[at + 1] === undefined ? '' : seenText(parts.join(', '));
}

interface ChoiceProps {
  readonly label: string;
  readonly entries: readonly Entry[];
  readonly value: number;
  readonly choose: (at: number) => void;
}

function Choice({ label, entries, value, choose }: ChoiceProps): JSX.Element {
  return (
    <Select
      label={label}
      name={label}
      value={String(value)}
      onChange={(at) => choose(Number(at))}
      options={entries.map(({ at, principal }, number) => [String(number), `${zonedText(at)}, ${principal}`] as const)}
    />
  );
}

/** Each part that differs, before and after. */
function Differences({ of }: { readonly of: readonly Difference[] }): JSX.Element {
  if (of.length === 0) return <Empty>These two states say the same.</Empty>;
  return (
    <Table label="What differs" columns={['Part', 'Before', 'After']}>
      {of.map(({ part, before, after }) => (
        <tr key={part}>
          <th scope="row">{seenText(part)}</th>
          <td class="grow diff">
            <Value of={before} sign="−" kind="removed" />
          </td>
          <td class="grow diff">
            <Value of={after} sign="+" kind="added" />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function Value({
  of,
  sign,
  kind,
}: {
  readonly of: string | undefined;
  readonly sign: string;
  readonly kind: string;
}): JSX.Element {
  if (of === undefined) return <span class="none">–</span>;
  return (
    <span class={`lines ${kind}`}>
      {sign} {seenText(of.slice(0, 4_000))}
    </span>
  );
}

interface PutBackProps {
  readonly entry: Entry;
  readonly newest: Entry;
  readonly current: Automation;
  readonly etag: string;
}

function PutBack({ entry, newest, current, etag }: PutBackProps): JSX.Element {
  const { _id: id, name } = current;
  const parts = differencesOf(newest, entry).map(({ part }) => part);
  if (parts.length === 0) return <span class="none">as it is now</span>;
  const putBack = async (): Promise<void> => {
    const { data, repeatInterval, nextRunAt } = entry.document;
    const schedule = { name, repeatInterval, nextRunAt, data: { cron: data?.cron, timeZone: data?.timeZone } };
    const rawPreview = JSON.stringify(schedule);
    const isKept = isSameRule(entry.document, current);
    const next = isKept ? [] : (await gateway.previewAutomation({ rawBody: rawPreview })).value.next;
    const rawBody = putBackText(entry, current, next, Date.now());
    await change('replaceAutomation', { path: { id }, headers: { 'If-Match': etag }, rawBody });
    goTo(hrefOf(['automations', id]));
  };
  return (
    <Action act={putBack} confirm={`Put back what it said then? It changes: ${seenText(parts.join(', '))}.`}>
      Put this back
    </Action>
  );
}
