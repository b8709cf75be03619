import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ImportResult } from '#client/gateway.ts';
import { hrefOf } from '../address.ts';
import { change } from '../change.ts';
import { Action } from '../parts/action.tsx';
import { Panel } from '../parts/basics.tsx';
import { Field } from '../parts/field.tsx';
import { countText } from '../texts.ts';

interface Chosen {
  readonly name: string;
  readonly text: string;
  /** `3 automations, 1 workflow`. */
  readonly words: string;
}

/** Takes the documents of an export into the catalogue: all of them, or none. */
export function Import(): JSX.Element {
  const [chosen, setChosen] = useState<Chosen | undefined>(undefined);
  const [result, setResult] = useState<ImportResult | undefined>(undefined);
  const read = async (file: File | undefined): Promise<void> => {
    setResult(undefined);
    const text = (await file?.text()) ?? '';
    setChosen(file === undefined ? undefined : { name: file.name, text, words: contentOf(text) });
  };
  const take = async (): Promise<void> => {
    if (chosen !== undefined) setResult((await change('importAutomations', { rawBody: chosen.text })).value);
  };
  return (
    <Panel title="Import" aside={<a href={hrefOf(['automations'])}>Close</a>}>
      <Field label="A file of an export" hint="One document a line. All are taken, or none. You answer for what they change.">
        {(ids) => (
          <input
            {...ids}
            type="file"
            accept=".ndjson,.jsonl,.json"
            onChange={({ currentTarget }) => void read(currentTarget.files?.[0])}
          />
        )}
      </Field>
      {chosen !== undefined && (
        <div class="buttons">
          <span>{chosen.words}</span>
          <Action
            tone="main"
            act={take}
            confirm={`Import ${chosen.words}? An automation or a form replaces the one with the same id.`}
          >
            Import
          </Action>
        </div>
      )}
      <p role="status">
        {result !== undefined && `${countText(result.imported, 'document')} imported, ${result.replaced} in place of others.`}
      </p>
    </Panel>
  );
}

/** How many documents of each kind a file has. */
function contentOf(text: string): string {
  const counts = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const kind = kindOf(line);
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts.size === 0 ? 'no document' : [...counts].map(([kind, count]) => countText(count, kind)).join(', ');
}

function kindOf(line: string): string {
  try {
    const { kind } = JSON.parse(line) as { readonly kind?: unknown };
    return typeof kind === 'string' ? kind : 'automation';
  } catch {
    return 'line that is no JSON';
  }
}
