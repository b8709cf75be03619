import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { seenText } from '../texts.ts';

/** Characters that the page shows of a text before a person asks for the rest. */
const firstCharacters = 50_000;

/** A text about which people decide: what the page shows of it, and how many characters it still hides. */
export interface WholeText {
  readonly shown: string;
  readonly hidden: number;
  readonly showAll: () => void;
}

/** Shows the beginning of a text, and all of it once a person asks. Another text begins again. */
export function useWhole(text: string): WholeText {
  const [whole, setWhole] = useState<string | undefined>(undefined);
  const end = whole === text ? text.length : endBefore(text, firstCharacters);
  return { shown: text.slice(0, end), hidden: text.length - end, showAll: () => setWhole(text) };
}

/** Where to cut a text: after at most `count` characters, and never within one. */
function endBefore(text: string, count: number): number {
  if (text.length <= count) return text.length;
  const last = text.charCodeAt(count - 1);
  return last >= 0xd8_00 && last <= 0xdb_ff ? count - 1 : count;
}

/** Characters of a block: the browser draws those in sight alone. */
const blockCharacters = 10_000;

/** All that is shown of a text, in the flow of the page: a box that scrolls would hide a part. */
export function Whole({ of, label }: { readonly of: WholeText; readonly label: string }): JSX.Element {
  return (
    <>
      <div class="text whole" role="group" aria-label={label}>
        {blocksOf(of.shown).map((block, at) => (
          <pre key={at}>{seenText(block)}</pre>
        ))}
      </div>
      <ShowAll of={of} label={label} />
    </>
  );
}

function blocksOf(text: string): readonly string[] {
  const blocks: string[] = [];
  for (let begin = 0; begin < text.length; ) {
    const limit = begin + endBefore(text.slice(begin, begin + blockCharacters + 1), blockCharacters);
    const line = limit < text.length ? text.lastIndexOf('\n', limit) + 1 : limit;
    const end = line > begin ? line : limit;
    blocks.push(text.slice(begin, end));
    begin = end;
  }
  return blocks;
}

/** Says how much of a text is hidden, and shows it. */
export function ShowAll({ of: { hidden, showAll }, label }: { readonly of: WholeText; readonly label: string }): JSX.Element {
  const words = `Show the other ${hidden.toLocaleString('en')} characters`;
  return (
    <>
      {hidden > 0 && (
        <p>
          <button type="button" onClick={showAll} aria-label={`${words}: ${label}`}>
            {words}
          </button>
        </p>
      )}
    </>
  );
}
