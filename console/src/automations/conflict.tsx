import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Automation } from '#client/gateway.ts';
import { Action } from '../parts/action.tsx';
import { Empty, Panel, Table, Time } from '../parts/basics.tsx';
import { seenText } from '../texts.ts';
import type { KeptForm } from './kept-form.ts';
import { changedParts, putOver } from './merge.ts';
import type { StoredAutomation } from './read-stored.ts';

interface ConflictProps {
  readonly of: KeptForm;
  /** What another person saved meanwhile. */
  readonly newer: StoredAutomation;
  /** What this person typed, as JSON text; undefined until the form has all of it. */
  readonly mine: string | undefined;
  /** Begins with that draft, or with what is stored. */
  readonly beginAgain: (next: KeptForm | undefined) => void;
}

/** Another person saved meanwhile: what both changed, and the choice of this one. Nothing is saved by the choice. */
export function Conflict({ of, newer, mine, beginAgain }: ConflictProps): JSX.Element {
  const words = useRef<HTMLParagraphElement>(null);
  // The button that saves may be far below.
  useEffect(() => words.current?.focus(), [newer.etag]);
  const { lastModifiedBy = 'Another person', data } = JSON.parse(newer.text) as Automation;
  const versions = mine !== undefined && isJson(mine) ? { base: of.base ?? newer.text, theirs: newer.text, mine } : undefined;
  return (
    <Panel title="It was changed meanwhile">
      <p role="status" ref={words} tabIndex={-1}>
        <strong>{seenText(lastModifiedBy)}</strong> changed it <Time at={data?.lastUpdated} />, after you had begun. Yours is not
        saved.
      </p>
      {versions === undefined ? (
        <p>Your input is no JSON yet. Mend it in the form, then both changes show here.</p>
      ) : (
        <Both of={versions} />
      )}
      <div class="buttons">
        {versions !== undefined && (
          <Action
            tone="main"
            act={async () => beginAgain({ ...of, base: newer.text, etag: newer.etag, begin: putOver(versions), controls: [] })}
          >
            Put mine over theirs
          </Action>
        )}
        <Action
          tone="danger"
          confirm="Discard what you typed? The form begins again with what is saved."
          act={async () => beginAgain(undefined)}
        >
          Discard mine
        </Action>
      </div>
      <p class="hint">A part that both changed becomes yours. You see all of it before you save.</p>
    </Panel>
  );
}

function Both({ of }: { readonly of: Parameters<typeof changedParts>[0] }): JSX.Element {
  const parts = changedParts(of);
  if (parts.length === 0) return <Empty>Both say the same now.</Empty>;
  return (
    <Table label="What both changed" columns={['Part', 'Before', 'Saved', 'Yours']}>
      {parts.map(({ part, before, theirs, mine }) => (
        <tr key={part}>
          <th scope="row">
            {seenText(part)}
            {theirs !== before && mine !== before && theirs !== mine && <div class="warn">changed by both</div>}
          </th>
          <td class="grow">
            <Value of={before} />
          </td>
          <td class="grow">{theirs === before ? <span class="soft">as before</span> : <Value of={theirs} />}</td>
          <td class="grow">{mine === before ? <span class="soft">as before</span> : <Value of={mine} />}</td>
        </tr>
      ))}
    </Table>
  );
}

/** Characters of a value in the table: the form has all of it. */
const shownCharacters = 1_000;

function Value({ of }: { readonly of: string | undefined }): JSX.Element {
  if (of === undefined) return <span class="none">–</span>;
  const text = of.length > shownCharacters ? `${of.slice(0, shownCharacters)}…` : of;
  return <span class="lines">{seenText(text)}</span>;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
