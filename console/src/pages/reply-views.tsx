import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { durationText } from '#client/gateway.ts';
import { type JsonNode, type JsonTable, opened, readJson, tableIn, textOfNode } from '../json-tree.ts';
import { Facts, Panel, Table, Text } from '../parts/basics.tsx';
import { Diff } from '../parts/diff.tsx';
import type { ReadReply } from '../reading.ts';
import { indentedJson, seenText } from '../texts.ts';

type View = 'raw' | 'table' | 'tree';

/** A reply as a table, as a tree, or as it came. Numbers have their digits in each of them. */
export function ReplyViews({ of: reply }: { readonly of: ReadReply }): JSX.Element {
  const { status, headers, text, isCut, milliseconds } = reply;
  const root = useMemo(() => (isCut ? undefined : readJson(text)), [reply]);
  const table = useMemo(() => root && tableIn(root), [root]);
  return (
    <Panel title={`Reply ${status}`} aside={<span class="soft">{durationText(milliseconds)}</span>}>
      <Facts of={headers} />
      {isCut && <p class="note">The reply is long. This is its begin.</p>}
      {text === '' ? <p class="empty">No body.</p> : <Body of={reply} root={root} table={table} />}
    </Panel>
  );
}

interface BodyProps {
  readonly of: ReadReply;
  /** Undefined where the text is no JSON, or was cut. */
  readonly root: JsonNode | undefined;
  readonly table: JsonTable | undefined;
}

const titles: Readonly<Record<View, string>> = { table: 'Table', tree: 'Tree', raw: 'Raw' };

function Body({ of: { text, isCut }, root, table }: BodyProps): JSX.Element {
  const [chosen, choose] = useState<View | undefined>(undefined);
  const raw = <Text of={isCut ? text : indentedJson(text)} label="The body of the reply" />;
  if (root === undefined) return raw;
  const views: readonly View[] = table === undefined ? ['tree', 'raw'] : ['table', 'tree', 'raw'];
  const view = views.find((one) => one === chosen) ?? views[0];
  return (
    <>
      <div class="buttons" role="group" aria-label="Views of the reply">
        {views.map((one) => (
          <button key={one} type="button" aria-pressed={one === view} onClick={() => choose(one)}>
            {titles[one]}
          </button>
        ))}
      </div>
      {view === 'raw' && raw}
      {view === 'tree' && <Tree of={root} />}
      {view === 'table' && table !== undefined && <Rows of={table} />}
    </>
  );
}

/** A preview of an orchestrator: what the call would change. */
export function PreviewReply({ text }: { readonly text: string }): JSX.Element | null {
  const node = readJson(text);
  const preview = node?.kind === 'object' ? node.members.find(([name]) => name === 'text')?.[1] : undefined;
  const change = preview === undefined ? undefined : textOfNode(preview);
  if (change === undefined) return null;
  return (
    <Panel title="What it would change">
      {change.trim() === '' ? <p>Nothing would change.</p> : <Diff of={change} label="The preview" />}
    </Panel>
  );
}

/** Rows that the page shows at first, and further with each press. */
const rowStep = 200;

function Rows({ of: { columns, rows } }: { readonly of: JsonTable }): JSX.Element {
  const [count, setCount] = useState(rowStep);
  return (
    <>
      <Table isGrid label="The reply as a table" columns={columns.map(seenText)}>
        {rows.slice(0, count).map((row, at) => (
          <tr key={at}>
            {row.map((cell, column) => (
              <td key={columns[column]}>{cell === undefined ? '' : cellText(cell)}</td>
            ))}
          </tr>
        ))}
      </Table>
      <More of={rows.length} shown={count} show={() => setCount(count + rowStep)} what="rows" />
    </>
  );
}

/** Characters of a cell. */
const cellCharacters = 200;

function cellText(node: JsonNode): string {
  const text = textOfNode(node) ?? plainText(node);
  return seenText(text.length > cellCharacters ? `${text.slice(0, cellCharacters)}…` : text);
}

function plainText(node: JsonNode): string {
  if (node.kind === 'value') return node.text;
  return node.kind === 'list' ? `[${node.entries.length}]` : `{${node.members.map(([name]) => name).join(', ')}}`;
}

interface MoreProps {
  readonly of: number;
  readonly shown: number;
  readonly show: () => void;
  readonly what: string;
}

function More({ of, shown, show, what }: MoreProps): JSX.Element | null {
  if (of <= shown) return null;
  return (
    <p>
      <button type="button" onClick={show}>
        Show more of {of.toLocaleString('en')} {what}
      </button>
    </p>
  );
}

function Tree({ of }: { readonly of: JsonNode }): JSX.Element {
  return (
    <div class="json-tree">
      <Branch node={of} name={undefined} depth={0} />
    </div>
  );
}

/** Levels that are open at first. */
const openLevels = 4;
const entryStep = 100;

interface BranchProps {
  readonly node: JsonNode;
  readonly name: string | undefined;
  readonly depth: number;
}

function Branch({ node: given, name, depth }: BranchProps): JSX.Element {
  const node = opened(given);
  const [isOpen, setOpen] = useState(depth < openLevels);
  const label = name === undefined ? null : <span class="soft">{seenText(name)}: </span>;
  if (node.kind === 'value') {
    return (
      <div>
        {label}
        <code>{shortened(node.text)}</code>
      </div>
    );
  }
  const children = node.kind === 'list' ? node.entries.map((entry, at) => [`${at}`, entry] as const) : node.members;
  const words = node.kind === 'list' ? `[${children.length}]` : `{${children.length}}`;
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {label}
        {words}
        {node !== given && <span class="soft"> in a text</span>}
      </summary>
      {isOpen && <Children of={children} depth={depth + 1} />}
    </details>
  );
}

interface ChildrenProps {
  readonly of: readonly (readonly [name: string, node: JsonNode])[];
  readonly depth: number;
}

function Children({ of, depth }: ChildrenProps): JSX.Element {
  const [count, setCount] = useState(entryStep);
  return (
    <div class="json-children">
      {of.slice(0, count).map(([name, node], at) => (
        <Branch key={at} node={node} name={name} depth={depth} />
      ))}
      <More of={of.length} shown={count} show={() => setCount(count + entryStep)} what="entries" />
    </div>
  );
}

/** Characters of a value in the tree. */
const valueCharacters = 2_000;

function shortened(text: string): string {
  return seenText(text.length > valueCharacters ? `${text.slice(0, valueCharacters)}…` : text);
}
