import { useEffect, useState } from 'preact/hooks';
import type { StreamedEvent } from '#client/gateway.ts';
import { throttled } from './load.ts';
import { gateway, noticeEndOf } from './session.ts';
import { useStreamShare } from './stream-share.ts';

/** Whether the page gets news: `away` while the connection is broken and taken up again, `asking` where other windows have the streams. */
export type Liveness = 'connecting' | 'live' | 'away' | 'asking' | 'ended';

/** Milliseconds between the questions of a page without a stream. */
const askedEvery = 5_000;

interface Source {
  /** Of one run; absent: of all that the caller may see. */
  readonly run?: string;
  /** Called at most once in this many milliseconds. */
  readonly every: number;
  /** There will be no more news. A stream ends by itself then; a page without one stops asking. */
  readonly isOver?: boolean;
}

/**
 * Calls `onNews` after events, and after each opening of the stream, for what happened while there was none; until the page is left. The
 * events of a run end with the run. A tab that is not visible has no stream, because browsers share six connections of HTTP/1.1 among all
 * tabs. Once it is visible again, or the computer has its network again, it opens the stream again. Where many are visible the older ones
 * ask every few seconds instead.
 */
export function useLive({ run, every, isOver = false }: Source, onNews: () => void): Liveness {
  const [liveness, setLiveness] = useState<Liveness>('connecting');
  const isVisible = useVisible();
  const mayStream = useStreamShare(isVisible);
  const network = useNetwork();
  // Not `isOver` itself: the stream, which is about to end, would be opened again.
  const hasAskedAll = isOver && !mayStream;
  useEffect(() => {
    if (!isVisible) return undefined;
    if (hasAskedAll) {
      setLiveness('ended');
      return undefined;
    }
    if (!mayStream) {
      setLiveness('asking');
      const timer = setInterval(onNews, askedEvery);
      return () => clearInterval(timer);
    }
    const leave = new AbortController();
    const news = throttled(onNews, every);
    const options = {
      signal: leave.signal,
      onOpen: () => {
        setLiveness('live');
        news.call();
      },
      onInterruption: () => setLiveness('away'),
    };
    const events = run === undefined ? gateway.followEvents(options) : gateway.followRun({ ...options, path: { id: run } });
    readAll(events, news.call).then(
      () => {
        setLiveness('ended');
        news.call();
      },
      (error: unknown) => {
        if (leave.signal.aborted) return;
        noticeEndOf(error);
        setLiveness('ended');
      },
    );
    return () => {
      leave.abort();
      news.end();
    };
  }, [run, every, onNews, isVisible, mayStream, hasAskedAll, network]);
  return liveness;
}

async function readAll(events: AsyncIterable<StreamedEvent>, onEvent: () => void): Promise<void> {
  for await (const _event of events) onEvent();
}

function useVisible(): boolean {
  const [isVisible, setVisible] = useState(document.visibilityState === 'visible');
  useEffect(() => {
    const look = (): void => setVisible(document.visibilityState === 'visible');
    document.addEventListener('visibilitychange', look);
    return () => document.removeEventListener('visibilitychange', look);
  }, []);
  return isVisible;
}

/** Counts how often the computer got its network again: after a sleep the old connection would be silent for long. */
function useNetwork(): number {
  const [count, setCount] = useState(0);
  useEffect(() => {
    const again = (): void => setCount((last) => last + 1);
    addEventListener('online', again);
    return () => removeEventListener('online', again);
  }, []);
  return count;
}
