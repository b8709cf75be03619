import type { ComponentChildren, JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { Failure } from './loading.tsx';

interface ActionProps {
  readonly children: ComponentChildren;
  readonly act: () => Promise<unknown>;
  /** Asked before it is done. */
  readonly confirm?: string;
  readonly tone?: 'main' | 'danger';
}

/** A button that changes something: it is busy meanwhile, asks first where it has to, and shows what went wrong. */
export function Action({ children, act, confirm, tone }: ActionProps): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(undefined);
  const dialog = useRef<HTMLDialogElement>(null);
  const run = (): void => {
    dialog.current?.close();
    setBusy(true);
    setError(undefined);
    act()
      .catch((failure: unknown) => setError(failure))
      .finally(() => setBusy(false));
  };
  return (
    <span class="action">
      <button
        type="button"
        class={tone}
        aria-disabled={isBusy}
        onClick={() => {
          if (!isBusy) (confirm === undefined ? run : () => dialog.current?.showModal())();
        }}
      >
        {children}
        {isBusy && '…'}
      </button>
      {confirm !== undefined && (
        <dialog ref={dialog} aria-label={confirm}>
          <p>{confirm}</p>
          <div class="buttons">
            <button type="button" class={tone ?? 'main'} onClick={run}>
              {children}
            </button>
            <button type="button" onClick={() => dialog.current?.close()}>
              Do nothing
            </button>
          </div>
        </dialog>
      )}
      {error !== undefined && <Failure error={error} />}
    </span>
  );
}

/** The state of a form that sends a change: busy, failed. */
export function useSending(send: (form: HTMLFormElement) => Promise<unknown>): {
  readonly isBusy: boolean;
  readonly error: unknown;
  readonly submit: (event: Event & { readonly currentTarget: HTMLFormElement }) => void;
} {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(undefined);
  const submit = (event: Event & { readonly currentTarget: HTMLFormElement }): void => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    setError(undefined);
    send(event.currentTarget)
      .catch((failure: unknown) => setError(failure))
      .finally(() => setBusy(false));
  };
  return { isBusy, error, submit };
}
