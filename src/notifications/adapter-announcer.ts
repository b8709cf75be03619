import type { AdapterState } from '#adapters/nodes/node-standing.ts';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import { every } from '#base/timing/every.ts';
import type { NewEvent } from '#runs/journal/run-records.ts';
import type { AdapterHealthStore } from './adapter-health-store.ts';

/** An adapter instance as far as events tell of it. */
interface WatchedAdapter {
  readonly name: string;
  standing(): { readonly state: AdapterState; readonly lastError: { readonly code: string } | undefined };
}

interface AnnouncerOptions {
  readonly health: AdapterHealthStore;
  readonly adapters: () => readonly WatchedAdapter[];
  /** Puts events into the log. One whose source and id are there already stays as it is. */
  readonly publish: (events: readonly NewEvent[]) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
  /** Milliseconds between two looks at the adapter instances. */
  readonly interval?: number;
}

const usualInterval = 1_000;

/**
 * Announces when an adapter instance goes down (`offline`), and when it is up again. A gateway speaks when its own view has changed, and
 * says only what no gateway on the store has said last.
 */
export function announceAdapters(options: AnnouncerOptions): { stop(): Promise<void> } {
  /** What this gateway saw last, where it has said it or need not. */
  const seen = new Map<string, boolean>();
  const logged = new Map<string, boolean>();
  return every(
    options.interval ?? usualInterval,
    () => {
      logChanges(logged, options);
      return announceChanges(seen, options);
    },
    () => undefined,
  );
}

/** Each gateway has a line for its own view, also while the store is away. */
function logChanges(logged: Map<string, boolean>, { adapters, log }: AnnouncerOptions): void {
  const current = adapters();
  for (const name of logged.keys()) if (!current.some((adapter) => adapter.name === name)) logged.delete(name);
  for (const adapter of current) {
    const { name: adapterName } = adapter;
    const [before = false, down] = [logged.get(adapterName), isDown(adapter)];
    if (down === undefined || before === down) continue;
    logged.set(adapterName, down);
    if (down) log.warn('an adapter instance is offline', { adapter: adapterName, code: adapter.standing().lastError?.code });
    else log.info('an adapter instance is online again', { adapter: adapterName });
  }
}

async function announceChanges(
  seen: Map<string, boolean>,
  { health, adapters, publish, clock }: AnnouncerOptions,
): Promise<void> {
  const current = adapters();
  const names = new Set(current.map(({ name }) => name));
  for (const name of seen.keys()) if (!names.has(name)) seen.delete(name);
  const changed = current.filter((adapter) => isDown(adapter) !== undefined && isDown(adapter) !== seen.get(adapter.name));
  if (changed.length === 0) return;
  const said = await health.read(changed.map(({ name }) => name));
  for (const adapter of changed) {
    const { name } = adapter;
    const down = isDown(adapter);
    if (down === undefined) continue;
    const before = said.get(name) ?? { isDown: false, changes: 0 };
    if (before.isDown !== down) {
      // The id follows from what was said before, so that the same change through another gateway, or after a crash, is the same event.
      await publish([eventOf(adapter, { down, change: before.changes + 1, at: clock.now() })]);
      await health.change(name, before, down);
    }
    seen.set(name, down);
  }
}

/** Undefined: nothing is known. An instance with a node that answers is up. */
function isDown(adapter: WatchedAdapter): boolean | undefined {
  const { state } = adapter.standing();
  return state === 'unknown' ? undefined : state === 'offline';
}

function eventOf(
  adapter: WatchedAdapter,
  { down, change, at }: { readonly down: boolean; readonly change: number; readonly at: number },
): NewEvent {
  const { name } = adapter;
  const { state, lastError } = adapter.standing();
  const event = {
    specversion: '1.0',
    id: String(change),
    source: `/adapters/${encodeURIComponent(name)}`,
    type: `orchestration-gateway.adapter.${down ? 'down' : 'up'}.v1`,
    time: new Date(at).toISOString(),
    subject: name,
    datacontenttype: 'application/json',
    data: { adapter: name, state, ...(down && lastError !== undefined && { code: lastError.code }) },
  };
  return { at, kind: 'lifecycle', event: JSON.stringify(event) };
}
