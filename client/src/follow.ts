import type { RunEvent, StreamedEvent } from './call.ts';
import { streamEvents } from './event-stream.ts';
import { GatewayError } from './gateway-error.ts';
import { piecesOf } from './pieces.ts';

interface Following {
  /** Opens the stream after that position. */
  readonly open: (headers: Readonly<Record<string, string>>, signal: AbortSignal) => Promise<Response>;
  readonly signal?: AbortSignal | undefined;
  readonly after?: string | undefined;
  readonly onInterruption?: ((error: GatewayError, milliseconds: number) => void) | undefined;
  readonly onOpen?: (() => void) | undefined;
}

/** Milliseconds until the gateway is asked again, at least and at most. */
const [shortest, longest] = [1_000, 10_000];
/** Milliseconds without a byte after which a connection counts as broken. The gateway sends a comment every 15 seconds. */
const silence = 45_000;

/**
 * The events of a stream, each once. A stream that breaks or ends is opened again after its last event, until the gateway says that there
 * are no more (204). Throws what cannot be mended by waiting, and the reason of an abort.
 */
export async function* followEvents(following: Following): AsyncGenerator<StreamedEvent, void, undefined> {
  const { signal, onInterruption } = following;
  const place: { last: string | undefined; failures: number } = { last: following.after, failures: 0 };
  for (;;) {
    signal?.throwIfAborted();
    try {
      const ended = yield* openStream(following, place);
      if (ended) return;
    } catch (error) {
      if (!(error instanceof GatewayError) || !error.isTemporary) throw error;
      const wait = Math.max(Math.min(longest, shortest * 2 ** place.failures), (error.retryAfter ?? 0) * 1_000);
      place.failures += 1;
      onInterruption?.(error, wait);
      await pause(wait, signal);
    }
  }
}

/** Resolves with true where no events are left. Throws where the stream ends without an event: a proxy that ends each stream gets a pause. */
async function* openStream(
  { open, signal, onOpen }: Following,
  place: { last: string | undefined; failures: number },
): AsyncGenerator<StreamedEvent, boolean, undefined> {
  const silent = new AbortController();
  const either = signal === undefined ? silent.signal : AbortSignal.any([signal, silent.signal]);
  const headers = { Accept: 'text/event-stream', ...(place.last === undefined ? {} : { 'Last-Event-ID': place.last }) };
  const watch = watchSilence(() => silent.abort(new GatewayError('The stream of events fell silent.', { code: 'no-reply' })));
  try {
    const response = await open(headers, either);
    if (response.status === 204) return true;
    onOpen?.();
    let heard = 0;
    for await (const { id, data } of streamEvents(piecesOf(response, watch.heard))) {
      heard += 1;
      place.failures = 0;
      place.last = id ?? place.last;
      yield { position: place.last, value: JSON.parse(data) as RunEvent, text: data };
    }
    if (heard === 0) throw new GatewayError('The stream of events ended without an event.', { code: 'no-reply' });
    return false;
  } finally {
    watch.end();
    silent.abort();
  }
}

/** Calls back once where `heard` is not called in time. */
function watchSilence(callBack: () => void): { readonly heard: () => void; readonly end: () => void } {
  let timer = setTimeout(callBack, silence);
  const end = (): void => clearTimeout(timer);
  const heard = (): void => {
    end();
    timer = setTimeout(callBack, silence);
  };
  return { heard, end };
}

function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', leave);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', leave, { once: true });
  });
}
