import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { seenText } from '../texts.ts';
import { Icon } from './icon.tsx';

interface CopyProps {
  readonly text: string;
  /** What it is, for readers of screens. */
  readonly what: string;
  /** Only the icon is drawn. */
  readonly isSmall?: boolean;
}

/** A button that copies a text. Browsers have no clipboard on plain HTTP, except on localhost. */
export function Copy({ text, what, isSmall = false }: CopyProps): JSX.Element {
  const [word, setWord] = useState('Copy');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setWord('Copied');
    } catch {
      setWord('Copy it by hand');
    }
  };
  return (
    <button
      type="button"
      class={isSmall ? 'copy small' : 'copy'}
      data-tip={isSmall ? `${word}: ${what}` : undefined}
      onClick={() => void copy()}
      aria-label={`${word}: ${what}`}
    >
      {isSmall ? <Icon of={word === 'Copied' ? 'check' : 'copy'} /> : word}
    </button>
  );
}

/** An id, small and next to a name, to be copied. A long one shows its end, since ids of one minute begin alike. */
export function Id({ of, what = 'the id' }: { readonly of: string; readonly what?: string }): JSX.Element {
  return (
    <span class="id">
      <code data-tip={of.length > 24 ? of : undefined}>{of.length > 24 ? `…${seenText(of.slice(-12))}` : seenText(of)}</code>
      <Copy text={of} what={what} isSmall />
    </span>
  );
}
