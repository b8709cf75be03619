/**
 * The load, a process that takes orders over IPC. Each caller keeps one connection and calls again as soon as it has its reply, until the
 * time is over. Calls in flight then are waited for.
 */
import { quantile } from '../figures.ts';
import { type Caller, openCaller } from './caller.ts';

export interface Order {
  readonly port: number;
  /** A whole HTTP/1.1 request. */
  readonly request: string;
  readonly callers: number;
  readonly milliseconds: number;
  /** Further callers that call once before and once after the others, and keep their connections in between. */
  readonly idle?: number;
}

export interface Served {
  /** All answered calls. */
  readonly calls: number;
  /** Answered calls of the busy callers. */
  readonly served: number;
  readonly seconds: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

/** Opens a hundred at a time, so that no listen queue overflows. */
async function openCallers(port: number, count: number): Promise<readonly Caller[]> {
  const callers: Caller[] = [];
  while (callers.length < count) {
    const some = Array.from({ length: Math.min(100, count - callers.length) }, () => openCaller(port));
    callers.push(...(await Promise.all(some)));
  }
  return callers;
}

/** Opens callers and makes one call each, because the gateway soon closes a connection without a request. */
async function openAnswered(port: number, count: number, bytes: Buffer): Promise<readonly Caller[]> {
  const callers: Caller[] = [];
  while (callers.length < count) {
    const some = await openCallers(port, Math.min(10, count - callers.length));
    await eachCalls(some, bytes);
    callers.push(...some);
  }
  return callers;
}

/** Makes ten calls at a time, because these calls are not the load. */
async function eachCalls(callers: readonly Caller[], bytes: Buffer): Promise<void> {
  for (let at = 0; at < callers.length; at += 10)
    await Promise.all(callers.slice(at, at + 10).map((caller) => caller.call(bytes)));
}

async function serve({ port, request, callers, milliseconds, idle = 0 }: Order): Promise<Served> {
  const bytes = Buffer.from(request);
  const silent = await openAnswered(port, idle, bytes);
  const busy = await openCallers(port, callers);
  const times: number[] = [];
  const started = performance.now();
  const lane = async (caller: Caller): Promise<void> => {
    for (let sent = performance.now(); sent - started < milliseconds; sent = performance.now()) {
      await caller.call(bytes);
      times.push(performance.now() - sent);
    }
    caller.close();
  };
  await Promise.all(busy.map(lane));
  const seconds = (performance.now() - started) / 1000;
  await eachCalls(silent, bytes);
  for (const caller of silent) caller.close();
  return { calls: times.length + 2 * idle, served: times.length, seconds, p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}

process.on('message', (order: Order) => {
  serve(order).then(
    (served) => process.send?.({ served }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.on('disconnect', () => process.exit());
