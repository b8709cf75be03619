import { setTimeout as sleep } from 'node:timers/promises';
import { CallerLeft } from '#base/caller-left.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { streamEvents } from './event-stream-reader.ts';
import { GatewayAway, GatewayRefusal, type GatewaySession } from './gateway-session.ts';
import { type LifecycleEvent, readLifecycleEvent } from './lifecycle-event.ts';
import type { RunFacts } from './run-facts.ts';

interface Following {
  readonly session: GatewaySession;
  /** Id of the run. */
  readonly id: string;
  readonly interruption: AbortSignal;
  readonly show: (event: LifecycleEvent) => Promise<void>;
  /** Called once for each time that the gateway goes away. */
  readonly complain: (why: string) => void;
}

/** Milliseconds until the gateway is asked again. */
const retryAfter = 1_000;

const pauses: ReadonlySet<string> = new Set(['completed', 'faulted', 'cancelled', 'suspended']);

/**
 * Shows the events of a run from its beginning, each once. Resolves with the run when it has ended or is suspended, and with undefined after
 * an interruption. While the gateway is away it asks again: the stream goes on after the last event.
 */
export async function followRun(following: Following): Promise<RunFacts | undefined> {
  const { session, id, interruption, complain } = following;
  const place: { last: string | undefined } = { last: undefined };
  let isAway = false;
  while (!interruption.aborted) {
    try {
      await untilPause(following, place);
      const run = (await session.ask({ path: `/runs/${id}`, signal: interruption })) as RunFacts;
      isAway = false;
      if (pauses.has(run.status)) return run;
    } catch (error) {
      const again = isTemporary(error, interruption);
      if (again === undefined) throw error;
      if (!isAway && !interruption.aborted) complain(again.why);
      isAway = true;
      await sleep(again.after, undefined, { signal: interruption }).catch(() => {});
    }
  }
  return undefined;
}

/** Reads the stream to its end, or to an event after which only people change the run. */
async function untilPause({ session, id, interruption, show }: Following, place: { last: string | undefined }): Promise<void> {
  const headers = { Accept: 'text/event-stream', ...(place.last !== undefined && { 'Last-Event-ID': place.last }) };
  const { status, body } = await session.open({ path: `/runs/${id}/events`, headers, signal: interruption });
  // The run has ended, and all of its events are here.
  if (status === 204) return void (await body.return());
  for await (const { id: number, data } of streamEvents(body)) {
    const event = readLifecycleEvent(data);
    place.last = number ?? place.last;
    if (event === undefined) continue;
    await show(event);
    if (event.of === 'workflow' && pauses.has(event.kind)) return;
  }
}

/** Why the gateway is away, and after how many milliseconds to ask again; undefined for any other error. */
function isTemporary(error: unknown, { aborted }: AbortSignal): { readonly why: string; readonly after: number } | undefined {
  if (error instanceof GatewayRefusal) {
    const isBusy = error.status === 503 || error.status === 429;
    return isBusy ? { why: error.message, after: Math.max(retryAfter, (error.retryAfter ?? 0) * 1_000) } : undefined;
  }
  if (error instanceof GatewayAway) return { why: error.message, after: retryAfter };
  // The stream itself broke off.
  if (error instanceof GatewayError) return { why: 'the gateway broke the stream of events off', after: retryAfter };
  return error instanceof CallerLeft && aborted ? { why: '', after: 0 } : undefined;
}
