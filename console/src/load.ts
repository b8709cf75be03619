import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { noticeEndOf } from './session.ts';

/** What a page asked the gateway for. While it asks again the last value stays. */
export interface Loaded<Value> {
  readonly value: Value | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
  readonly again: () => void;
}

/** Asks at the first showing, whenever a key changes, and on `again`. */
export function useLoad<Value>(ask: (signal: AbortSignal) => Promise<Value>, keys: readonly string[]): Loaded<Value> {
  const [round, setRound] = useState(0);
  const [state, setState] = useState<{ key: string; value?: Value; error?: unknown; isLoading: boolean }>({
    key: '',
    isLoading: true,
  });
  const latest = useRef(ask);
  latest.current = ask;
  const key = keys.join('\n');
  useEffect(() => {
    const leave = new AbortController();
    setState((last) => (last.key === key ? { ...last, isLoading: true } : { key, isLoading: true }));
    latest.current(leave.signal).then(
      (value) => {
        if (!leave.signal.aborted) setState({ key, value, isLoading: false });
      },
      (error: unknown) => {
        if (leave.signal.aborted) return;
        noticeEndOf(error);
        setState((last) => ({ ...last, key, error, isLoading: false }));
      },
    );
    return () => leave.abort();
  }, [key, round]);
  const again = useCallback(() => setRound((last) => last + 1), []);
  return { value: state.value, error: state.error, isLoading: state.isLoading, again };
}

/** Calls `work` at most once in `milliseconds`, the last call included. */
export function throttled(work: () => void, milliseconds: number): { readonly call: () => void; readonly end: () => void } {
  let timer: number | undefined;
  return {
    call() {
      timer ??= setTimeout(() => {
        timer = undefined;
        work();
      }, milliseconds);
    },
    end: () => clearTimeout(timer),
  };
}
