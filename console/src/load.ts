import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { noticeEndOf } from './session.ts';

/** What a page asked the gateway for. While it asks again the last value stays. */
export interface Loaded<Value> {
  readonly value: Value | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
  readonly again: () => void;
}

/**
 * Asks at the first showing, and whenever a key changes: then what was asked for before is dropped. `again` and another `version` ask
 * again after the answer that is under way: events that come faster than answers hide none.
 */
export function useLoad<Value>(
  ask: (signal: AbortSignal) => Promise<Value>,
  keys: readonly string[],
  version: unknown = '',
): Loaded<Value> {
  const [state, setState] = useState<{ key: string; value?: Value; error?: unknown; isLoading: boolean }>({
    key: '',
    isLoading: true,
  });
  const latest = useRef(ask);
  latest.current = ask;
  const asking = useRef(() => {});
  const askedVersion = useRef(version);
  const key = keys.join('\n');
  useEffect(() => {
    const leave = new AbortController();
    asking.current = oneAtATime(async () => {
      setState((last) => (last.key === key ? { ...last, isLoading: true } : { key, isLoading: true }));
      try {
        const value = await latest.current(leave.signal);
        if (!leave.signal.aborted) setState({ key, value, isLoading: false });
      } catch (error) {
        if (leave.signal.aborted) return;
        noticeEndOf(error);
        setState((last) => ({ ...last, key, error, isLoading: false }));
      }
    }, leave.signal);
    asking.current();
    return () => leave.abort();
  }, [key]);
  useEffect(() => {
    if (askedVersion.current === version) return;
    askedVersion.current = version;
    asking.current();
  }, [version]);
  const again = useCallback(() => asking.current(), []);
  return { value: state.value, error: state.error, isLoading: state.isLoading, again };
}

/** Begins `work` at once, or again after the one that is under way: at most one waits. `work` never rejects. */
export function oneAtATime(work: () => Promise<void>, leave: AbortSignal): () => void {
  let isBusy = false;
  let isWanted = false;
  const workAll = async (): Promise<void> => {
    isBusy = true;
    while (isWanted && !leave.aborted) {
      isWanted = false;
      await work();
    }
    isBusy = false;
  };
  return () => {
    isWanted = true;
    if (!isBusy) void workAll();
  };
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
