import { useEffect, useState } from 'preact/hooks';
import type { StreamedEvent } from '#client/gateway.ts';
import { throttled } from './load.ts';
import { gateway, noticeEndOf } from './session.ts';

/** Whether the page gets news: `away` while the connection is broken and taken up again. */
export type Liveness = 'connecting' | 'live' | 'away' | 'ended';

interface Source {
  /** Of one run; absent: of all that the caller may see. */
  readonly run?: string;
  /** Called at most once in this many milliseconds. */
  readonly every: number;
}

/** Calls `onNews` after events, until the page is left. The events of a run end with the run. */
export function useLive({ run, every }: Source, onNews: () => void): Liveness {
  const [liveness, setLiveness] = useState<Liveness>('connecting');
  useEffect(() => {
    const leave = new AbortController();
    const news = throttled(onNews, every);
    const options = {
      signal: leave.signal,
      onOpen: () => setLiveness('live'),
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
  }, [run, every, onNews]);
  return liveness;
}

async function readAll(events: AsyncIterable<StreamedEvent>, onEvent: () => void): Promise<void> {
  for await (const _event of events) onEvent();
}
