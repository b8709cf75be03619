import { setTimeout as sleep } from 'node:timers/promises';
import { type Gateway, GatewayError, type Run } from '#client/gateway.ts';
import { exact } from '../gateway-session.ts';
import { type LifecycleEvent, readLifecycleEvent } from '../texts/lifecycle-event.ts';

interface Following {
  readonly gateway: Gateway;
  /** Id of the run. */
  readonly id: string;
  readonly interruption: AbortSignal;
  readonly show: (event: LifecycleEvent) => Promise<void>;
  /** Called once for each time that the gateway goes away. */
  readonly complain: (error: GatewayError) => void;
}

/** Milliseconds until the gateway is asked again. */
const retryAfter = 1_000;

const pauses: ReadonlySet<string> = new Set(['completed', 'faulted', 'cancelled', 'suspended']);

/**
 * Shows the events of a run from its beginning, each once. Resolves with the run when it has ended or is suspended, and with undefined after
 * an interruption. While the gateway is away it asks again: the events go on after the last one.
 */
export async function followRun(following: Following): Promise<Run | undefined> {
  const { interruption } = following;
  try {
    return await untilPause(following);
  } catch (error) {
    if (interruption.aborted) return undefined;
    throw error;
  }
}

async function untilPause({ gateway, id, interruption, show, complain }: Following): Promise<Run> {
  let isAway = false;
  const away = (error: GatewayError): void => {
    if (!isAway) complain(error);
    isAway = true;
  };
  const back = (): void => {
    isAway = false;
  };
  const events = gateway.followRun({ path: { id }, signal: interruption, onInterruption: away, onOpen: back });
  for await (const { text } of events) {
    const event = readLifecycleEvent(text);
    if (event === undefined) continue;
    await show(event);
    if (event.of !== 'workflow' || !pauses.has(event.kind)) continue;
    const run = await patiently(() => readRun(gateway, id, interruption), away);
    // The events of a run that was resumed tell of its earlier suspension.
    if (pauses.has(run.status)) return run;
  }
  return await patiently(() => readRun(gateway, id, interruption), away);
}

async function readRun(gateway: Gateway, id: string, signal: AbortSignal): Promise<Run> {
  return exact(await gateway.readRun({ path: { id }, signal }));
}

async function patiently<T>(ask: () => Promise<T>, away: (error: GatewayError) => void): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof GatewayError && error.isTemporary)) throw error;
      away(error);
      await sleep(Math.max(retryAfter, (error.retryAfter ?? 0) * 1_000));
    }
  }
}
