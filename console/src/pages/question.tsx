import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { seenText } from '../texts.ts';

interface Question {
  readonly dialog: JSX.Element;
  /** Resolves with the answer of the person. */
  readonly ask: (call: string, adapter: string) => Promise<boolean>;
}

/** Asks before a call that may change something. */
export function useQuestion(): Question {
  const dialog = useRef<HTMLDialogElement>(null);
  const answer = useRef<(isSent: boolean) => void>(() => {});
  const [words, setWords] = useState<readonly [call: string, adapter: string]>(['', '']);
  const [call, adapter] = words;
  const close = (isSent: boolean): void => {
    answer.current(isSent);
    dialog.current?.close();
  };
  return {
    ask: (asked, at) =>
      new Promise((resolve) => {
        answer.current = resolve;
        setWords([asked, at]);
        dialog.current?.showModal();
      }),
    dialog: (
      <dialog ref={dialog} aria-label="Send this call?" onClose={() => answer.current(false)}>
        <p>Send this call{adapter !== '' && ` to ${seenText(adapter)}`}? It may change the network.</p>
        <p>
          <code>{seenText(call)}</code>
        </p>
        <div class="buttons">
          <button type="button" class="main" onClick={() => close(true)}>
            Send it
          </button>
          <button type="button" onClick={() => close(false)}>
            Do nothing
          </button>
        </div>
      </dialog>
    ),
  };
}
