import { type ComponentChildren, createContext, type JSX } from 'preact';
import { useContext, useLayoutEffect, useRef } from 'preact/hooks';
import { now } from '../frame/now.ts';
import { fromNowText, seenText, timeText, zonedText } from '../texts.ts';

/** True inside a table: the focus on the link of a row shows the times of the row. */
const InTable = createContext(false);

interface TimeProps {
  readonly at: string | undefined;
  /** Shown as it is, where the order of two times matters. */
  readonly exact?: boolean;
}

/** A time from now, such as `5 min ago`. The pointer or the focus shows it in the reader's time zone. */
export function Time({ at, exact = false }: TimeProps): JSX.Element {
  const isInTable = useContext(InTable);
  if (at === undefined) return <span class="none">–</span>;
  const fromNow = fromNowText(at, now.value);
  return (
    <time
      dateTime={at}
      data-tip={exact ? `${fromNow}, ${zonedText(at)}` : zonedText(at)}
      tabIndex={isInTable ? undefined : 0}
      class={exact ? undefined : 'from-now'}
    >
      {exact ? timeText(at) : fromNow}
    </time>
  );
}

type Fact = readonly [name: string, value: ComponentChildren];

/** Names and values. Values that are undefined are left out. */
export function Facts({ of }: { readonly of: readonly Fact[] }): JSX.Element {
  return (
    <dl class="facts">
      {of
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{typeof value === 'string' ? seenText(value) : value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** Characters of a text that the page holds. */
const shownCharacters = 100_000;

interface TextProps {
  readonly of: string;
  readonly label: string;
  /** People decide about the text, so that all of it is there. */
  readonly isWhole?: boolean;
}

/** A text as it came. A long one is cut, so that the page stays quick. */
export function Text({ of, label, isWhole = false }: TextProps): JSX.Element {
  const isCut = !isWhole && of.length > shownCharacters;
  return (
    <>
      {/* biome-ignore lint/a11y: a region that scrolls has to be reached by keyboard. */}
      <pre class="text" tabIndex={0} role="group" aria-label={label}>
        {seenText(isCut ? of.slice(0, shownCharacters) : of)}
      </pre>
      {isCut && (
        <p class="note">
          The first {shownCharacters.toLocaleString('en')} of {of.length.toLocaleString('en')} characters.
        </p>
      )}
    </>
  );
}

interface PanelProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly aside?: ComponentChildren;
}

/** A part of a page with a heading. */
export function Panel({ title, children, aside }: PanelProps): JSX.Element {
  return (
    <section class="panel" aria-label={title}>
      <div class="panel-head">
        <h2>{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  );
}

export function Empty({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return <p class="empty">{children}</p>;
}

interface TableProps {
  readonly label: string;
  readonly columns: readonly string[];
  /** Numbers of the columns, from 1, that a narrow screen leaves out: the page of the entry has them. */
  readonly extra?: readonly number[];
  /** Its cells are compared with each other: it scrolls inside its own region where the screen is narrow. */
  readonly isGrid?: boolean;
  readonly children: ComponentChildren;
}

/** A table whose rows fold on a narrow screen: then each cell has a line of its own, behind the name of its column. */
export function Table({ label, columns, extra = [], isGrid = false, children }: TableProps): JSX.Element {
  const table = useRef<HTMLTableElement>(null);
  useLayoutEffect(() => {
    for (const row of table.current?.tBodies[0]?.rows ?? [])
      for (const cell of row.cells) {
        const column = columns[cell.cellIndex] ?? '';
        if (cell.dataset['column'] !== column) cell.dataset['column'] = column;
      }
  });
  const classes = [...extra.map((column) => `without-${column}`), ...(isGrid ? [] : ['folds'])];
  return (
    <div class="table" tabIndex={0} role="group" aria-label={label}>
      <table ref={table} class={classes.join(' ')}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <InTable.Provider value={true}>{children}</InTable.Provider>
        </tbody>
      </table>
    </div>
  );
}

/** A text of the API's description, in which what is between two backticks is code. */
export function Prose({ children }: { readonly children: string | undefined }): JSX.Element {
  const parts = (children ?? '').split('`');
  return <>{parts.map((part, at) => (at % 2 === 0 ? part : <code key={`${at}`}>{part}</code>))}</>;
}
