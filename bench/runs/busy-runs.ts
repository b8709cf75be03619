/**
 * A process that keeps runs under way in a gateway: each that has ended is followed by another. It gets a `BusyOrder` over IPC, says that it
 * begins, and ends on the next message once all of its runs have ended.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { type RunsStore, runsOfGateway, startRun } from './gateway-side.ts';

export interface BusyOrder {
  readonly port: number;
  readonly token: string;
  readonly store: RunsStore;
  /** `_id` of the automation. */
  readonly automation: string;
  /** Runs that are under way at any moment. */
  readonly runs: number;
}

/** Milliseconds between two looks for runs that have ended. */
const interval = 5;

process.on('disconnect', () => process.exit());
const asked = once(process, 'message') as Promise<[BusyOrder]>;
process.send?.('ready');
const [{ port, token, store, automation, runs }] = await asked;
const stopping = new AbortController();
process.once('message', () => stopping.abort());

// The end of the process closes the connections.
const stored = await runsOfGateway({ after: () => {} }, store);
const pool = new Pool(`http://127.0.0.1:${port}`, { connections: runs });

let created = await stored.ended();
process.send?.('begun');
while (!stopping.signal.aborted) {
  const missing = runs - (created - (await stored.ended()));
  await Promise.all(Array.from({ length: missing }, () => startRun({ pool, token }, automation)));
  created += missing;
  await sleep(interval);
}
while ((await stored.ended()) < created) await sleep(interval);
process.exit();
