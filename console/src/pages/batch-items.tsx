import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type BatchItem, type ItemCounts, itemsText, type ListBatchItemsData, type RunTask } from '#client/gateway.ts';
import { hrefOf } from '../address.ts';
import { useLoad } from '../load.ts';
import { Empty, Table } from '../parts/basics.tsx';
import { Field, Select } from '../parts/field.tsx';
import { Loading } from '../parts/loading.tsx';
import { Status } from '../parts/status.tsx';
import { gateway, may } from '../session.ts';
import { errorKind, seenText } from '../texts.ts';
import { Decision } from './decision.tsx';

type ItemStatus = NonNullable<NonNullable<ListBatchItemsData['query']>['status']>;

const filters = [
  ['', 'any'],
  ['faulted', 'failed'],
  ['unknown', 'unknown'],
  ['cancelled', 'cancelled'],
  ['notStarted', 'not started'],
  ['running', 'running'],
  ['waiting', 'waiting'],
  ['completed', 'completed'],
] as const satisfies readonly (readonly [ItemStatus | '', string])[];

interface BatchProps {
  readonly run: string;
  readonly task: RunTask;
  readonly items: ItemCounts;
  readonly decided: () => void;
}

/** The items of a batch, asked for once a person opens them, and the decision about those whose calls may have happened. */
export function BatchItems({ run, task, items, decided }: BatchProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set());
  const done = (): void => {
    setChosen(new Set());
    decided();
  };
  return (
    <>
      <details class="calls items" onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>Items: {itemsText(items)}</summary>
        {isOpen && <ItemList run={run} task={task.id} version={JSON.stringify(items)} chosen={chosen} choose={setChosen} />}
      </details>
      {items.unknown > 0 && <UndecidedItems run={run} task={task} count={items.unknown} chosen={[...chosen]} decided={done} />}
    </>
  );
}

interface UndecidedProps extends Pick<BatchProps, 'decided' | 'run' | 'task'> {
  readonly count: number;
  /** Their indices. Empty: all. */
  readonly chosen: readonly number[];
}

function UndecidedItems({ run, task, count, chosen, decided }: UndecidedProps): JSX.Element {
  const about =
    chosen.length === 0 ? { task: task.id, items: 'unknown' as const, expected: count } : { task: task.id, items: [...chosen] };
  return (
    <div class="decision">
      <p>
        <strong>It is unknown whether calls of {count} items happened.</strong> Find out at the orchestrator, then decide{' '}
        {chosen.length === 0
          ? 'for all of them. To decide for some, choose them among the items.'
          : `for the ${chosen.length} that are chosen.`}
      </p>
      {may('decideRun') ? (
        <Decision run={run} about={about} decided={decided} />
      ) : (
        <p>The role admin decides, or a principal with a right to decide.</p>
      )}
    </div>
  );
}

/** Items of a page. */
const pageSize = 100;

interface ListProps {
  readonly run: string;
  readonly task: string;
  /** Changes with the counts, so that the list is asked for again. */
  readonly version: string;
  readonly chosen: ReadonlySet<number>;
  readonly choose: (chosen: ReadonlySet<number>) => void;
}

function ItemList({ run, task, version, chosen, choose }: ListProps): JSX.Element {
  const [status, setStatus] = useState('');
  const [search, setSearch] = useState('');
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const loaded = useLoad(
    async (signal) => {
      const list: BatchItem[] = [];
      let cursor: string | undefined;
      const wanted = filters.find(([one]) => one === status)?.[0] ?? '';
      const filter = { limit: pageSize, ...(wanted !== '' && { status: wanted }), ...(search !== '' && { search }) };
      for (const page of [undefined, ...cursors]) {
        const query = { ...filter, ...(page !== undefined && { cursor: page }) };
        const { value } = await gateway.listBatchItems({ path: { id: run, taskId: task }, query, signal });
        list.push(...value.list);
        cursor = value.cursor;
      }
      return { list, cursor };
    },
    [run, task, status, search, cursors.at(-1) ?? ''],
    version,
  );
  return (
    <>
      <ItemFilter
        status={status}
        show={(given) => {
          setCursors([]);
          if (given.status !== undefined) setStatus(given.status);
          if (given.search !== undefined) setSearch(given.search);
        }}
      />
      <Loading of={loaded}>
        {({ list, cursor }) => (
          <>
            {list.length === 0 ? <Empty>No item fits.</Empty> : <ItemTable items={list} chosen={chosen} choose={choose} />}
            {cursor !== undefined && (
              <button type="button" onClick={() => setCursors([...cursors, cursor])}>
                Show more items
              </button>
            )}
          </>
        )}
      </Loading>
    </>
  );
}

interface FilterProps {
  readonly status: string;
  readonly show: (given: { readonly status?: string; readonly search?: string }) => void;
}

function ItemFilter({ status, show }: FilterProps): JSX.Element {
  return (
    <div class="filters">
      <Select
        label="State of the items"
        name="items"
        value={status}
        options={filters}
        onChange={(chosen) => show({ status: chosen })}
      />
      <Field label="Find an item">
        {(ids) => <input {...ids} type="search" onChange={(event) => show({ search: event.currentTarget.value })} />}
      </Field>
    </div>
  );
}

interface TableProps extends Pick<ListProps, 'choose' | 'chosen'> {
  readonly items: readonly BatchItem[];
}

function ItemTable({ items, chosen, choose }: TableProps): JSX.Element {
  const mark = (index: number, isChosen: boolean): void => {
    const next = new Set(chosen);
    if (isChosen) next.add(index);
    else next.delete(index);
    choose(next);
  };
  return (
    <Table label="Items" columns={['State', 'Index', 'Item', 'Run', 'Result']} extra={[5]}>
      {items.map(({ index, status, item, run, error, output }) => (
        <tr key={index}>
          <td>
            {status === 'unknown' && may('decideRun') && (
              <input
                type="checkbox"
                aria-label={`Decide about item ${index}`}
                checked={chosen.has(index)}
                onChange={(event) => mark(index, event.currentTarget.checked)}
              />
            )}{' '}
            <Status of={status} label={words[status] ?? status} />
          </td>
          <td class="fixed number">{index}</td>
          <td class="grow">{shortText(item)}</td>
          <td>{run === undefined ? '' : <a href={hrefOf(['runs', run])}>its run</a>}</td>
          <td class="grow">{error === undefined ? shortText(output) : faultText(error)}</td>
        </tr>
      ))}
    </Table>
  );
}

const words: Readonly<Record<string, string>> = { faulted: 'failed', notStarted: 'not started' };

/** Characters of an item in the table: its run has all of it. */
const shownCharacters = 200;

function shortText(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return seenText(text.length > shownCharacters ? `${text.slice(0, shownCharacters)}…` : text);
}

/** The kind of an error, and its detail. */
function faultText(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('type' in error)) return shortText(error);
  const detail = 'detail' in error ? `: ${String(error.detail)}` : '';
  return shortText(`${errorKind(String(error.type))}${detail}`);
}
