import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { goTo } from '../address.ts';
import { Icon } from '../parts/icon.tsx';
import { seenText } from '../texts.ts';
import { type Finding, findPages, findThings } from './finding.ts';

const isOpen = signal(false);

export function openPalette(): void {
  isOpen.value = true;
}

/** Milliseconds without a key after which the gateway is asked. */
const pause = 150;

/** Finds pages and things of the gateway by name or id: Ctrl+K, or Command+K. */
export function Palette(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
      event.preventDefault();
      isOpen.value = !isOpen.value;
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  // Before the next event: the event of a dialog that closed comes late.
  useLayoutEffect(() => {
    if (isOpen.value) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen.value]);
  const close = (): void => {
    isOpen.value = false;
  };
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Find"
      onClose={(event) => !event.currentTarget.open && close()}
      onClick={(event) => event.target === event.currentTarget && close()}
    >
      {isOpen.value && <Search close={close} />}
    </dialog>
  );
}

function Search({ close }: { readonly close: () => void }): JSX.Element {
  const id = useId();
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const { things, isAsking } = useThings(text);
  const found = [...findPages(text), ...things].slice(0, 40);
  const at = Math.min(chosen, found.length - 1);
  const open = (finding: Finding | undefined): void => {
    if (finding === undefined) return;
    close();
    goTo(finding.href);
    scrollTo(0, 0);
  };
  const onKey = (event: KeyboardEvent): void => {
    const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    if (event.key === 'Enter') open(found[at]);
    else if (step === undefined || found.length === 0) return;
    else setChosen((at + step + found.length) % found.length);
    event.preventDefault();
  };
  useEffect(() => {
    document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: 'nearest' });
  }, [at]);
  return (
    <>
      <div class="palette-field">
        <Icon of="search" />
        <input
          role="combobox"
          aria-label="Find a page, an automation, a workflow, a run, an adapter or an approval"
          aria-expanded={found.length > 0}
          aria-controls={id}
          aria-activedescendant={found.length > 0 ? `${id}-${at}` : undefined}
          placeholder="A name, or an id"
          autocomplete="off"
          spellcheck={false}
          // The dialog was opened to type here.
          autofocus
          onInput={(event) => {
            setText(event.currentTarget.value);
            setChosen(0);
          }}
          onKeyDown={onKey}
        />
      </div>
      <div id={id} role="listbox" aria-label="Found" class="palette-list" tabIndex={-1}>
        {found.map((finding, index) => (
          <Option key={finding.href} of={finding} id={`${id}-${index}`} isChosen={index === at} open={open} />
        ))}
      </div>
      <p class="palette-note" role="status">
        {noteOf(found.length, isAsking)}
      </p>
    </>
  );
}

interface OptionProps {
  readonly of: Finding;
  readonly id: string;
  readonly isChosen: boolean;
  readonly open: (finding: Finding) => void;
}

/** The keys are those of the field. */
function Option({ of, id, isChosen, open }: OptionProps): JSX.Element {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus, and its Enter opens the chosen option.
    <div id={id} role="option" aria-selected={isChosen} onClick={() => open(of)} tabIndex={-1}>
      <Icon of={of.icon} /> <span class="found">{seenText(of.title)}</span> <span class="soft">{seenText(of.kind)}</span>
    </div>
  );
}

function noteOf(found: number, isAsking: boolean): string {
  if (isAsking) return 'Looking…';
  return found === 0 ? 'Nothing has this name or id.' : '↑ ↓ to choose, Enter to open, Escape to close';
}

function useThings(text: string): { readonly things: readonly Finding[]; readonly isAsking: boolean } {
  const [found, setFound] = useState<{ readonly text: string; readonly things: readonly Finding[] }>({ text: '', things: [] });
  const wanted = text.trim();
  useEffect(() => {
    if (wanted === '') return undefined;
    const leave = new AbortController();
    const timer = setTimeout(() => {
      void findThings(wanted, leave.signal).then((things) => {
        if (!leave.signal.aborted) setFound({ text: wanted, things });
      });
    }, pause);
    return () => {
      clearTimeout(timer);
      leave.abort();
    };
  }, [wanted]);
  // The things of the text before stay until those of this one are there.
  return { things: wanted === '' ? [] : found.things, isAsking: wanted !== found.text && wanted !== '' };
}
