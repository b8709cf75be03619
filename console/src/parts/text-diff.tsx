import { structuredPatch } from 'diff';
import type { JSX } from 'preact';
import { seenText } from '../texts.ts';
import { Empty } from './basics.tsx';

/** Lines that the page holds. */
const shownLines = 2_000;
/** Lines that differ, at most; beyond that a difference would take too long to find. */
const maxEdits = 4_000;

interface TextDiffProps {
  readonly before: string;
  readonly after: string;
  readonly label: string;
}

/** What differs between two texts, line by line: with a sign and a colour, the numbers of the lines, and some lines around. */
export function TextDiff({ before, after, label }: TextDiffProps): JSX.Element {
  if (before === after) return <Empty>Nothing differs.</Empty>;
  const patch = structuredPatch('', '', before, after, undefined, undefined, { context: 3, maxEditLength: maxEdits });
  if (patch === undefined) return <Empty>More than {maxEdits.toLocaleString('en')} lines differ.</Empty>;
  const rows = patch.hunks.flatMap(({ oldStart, newStart, lines }, at) => [
    ...(at === 0 ? [] : [{ sign: '…', text: '', old: 0, new: 0 }]),
    ...numbered(lines, oldStart, newStart),
  ]);
  return (
    <>
      {/* biome-ignore lint/a11y: a region that scrolls has to be reached by keyboard. */}
      <pre class="text text-diff" tabIndex={0} role="group" aria-label={label}>
        {rows.slice(0, shownLines).map((row, at) => (
          <span key={at} class={{ '+': 'added', '-': 'removed' }[row.sign]}>
            <span class="soft">{`${numberText(row.old)} ${numberText(row.new)} `}</span>
            {`${row.sign} ${seenText(row.text)}\n`}
          </span>
        ))}
      </pre>
      {rows.length > shownLines && (
        <p class="note">
          The first {shownLines} of {rows.length} lines.
        </p>
      )}
    </>
  );
}

interface Row {
  readonly sign: string;
  readonly text: string;
  /** 0: the text does not have it. */
  readonly old: number;
  readonly new: number;
}

function numbered(lines: readonly string[], oldStart: number, newStart: number): readonly Row[] {
  let [oldLine, newLine] = [oldStart, newStart];
  return lines.flatMap((line) => {
    const sign = line.charAt(0);
    if (sign === '\\') return [];
    const row = { sign, text: line.slice(1), old: sign === '+' ? 0 : oldLine, new: sign === '-' ? 0 : newLine };
    if (sign !== '+') oldLine += 1;
    if (sign !== '-') newLine += 1;
    return [row];
  });
}

function numberText(line: number): string {
  return (line === 0 ? '' : String(line)).padStart(4);
}
