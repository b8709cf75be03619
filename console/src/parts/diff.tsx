import type { JSX } from 'preact';
import { seenText } from '../texts.ts';

/** Lines that the page holds. */
const shownLines = 2_000;

interface DiffProps {
  readonly of: string;
  readonly label: string;
  /** People decide about the text, so that all of it is there, in the flow of the page. */
  readonly isWhole?: boolean;
}

/** A preview of an orchestrator, line by line: added and removed lines have a colour next to their sign. */
export function Diff({ of, label, isWhole = false }: DiffProps): JSX.Element {
  const all = of.trimEnd().split('\n');
  const lines = isWhole ? all : all.slice(0, shownLines);
  return (
    <>
      <pre class={isWhole ? 'text diff whole' : 'text diff'} tabIndex={0} role="group" aria-label={label}>
        {lines.map((line, at) => (
          <span key={at} class={kindOf(line)}>
            {seenText(line)}
            {'\n'}
          </span>
        ))}
      </pre>
      {all.length > lines.length && (
        <p class="note">
          The first {shownLines} of {all.length} lines.
        </p>
      )}
    </>
  );
}

function kindOf(line: string): string | undefined {
  if (/^\s*\+/u.test(line)) return 'added';
  // NSO writes removed configuration as `no …` for devices with a command line.
  return /^\s*(?:-|no )/u.test(line) ? 'removed' : undefined;
}
