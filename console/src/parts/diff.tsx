import type { JSX } from 'preact';
import { seenText } from '../texts.ts';

/** Lines that the page holds. */
const shownLines = 2_000;

/** A preview of an orchestrator, line by line: added and removed lines have a colour next to their sign. */
export function Diff({ of, label }: { readonly of: string; readonly label: string }): JSX.Element {
  const lines = of.trimEnd().split('\n');
  return (
    <>
      <pre class="text diff" tabIndex={0} role="group" aria-label={label}>
        {lines.slice(0, shownLines).map((line, at) => (
          <span key={at} class={kindOf(line)}>
            {seenText(line)}
            {'\n'}
          </span>
        ))}
      </pre>
      {lines.length > shownLines && (
        <p class="note">
          The first {shownLines} of {lines.length} lines.
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
