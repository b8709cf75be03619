import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { bucketOf, grains, microseconds } from '../../src/statistics/rollup.ts';
import { seededRandom } from '../support/seeded-random.ts';

const hour = 3_600_000;

/** Counts runs and calls of the last three days. The charts of a gateway that has just begun would have one bar. */
export function plantHistory(directory: string, automations: ReadonlyMap<string, string>): void {
  const random = seededRandom(7);
  const database = new DatabaseSync(join(directory, 'gateway.audit.db'));
  database.exec('pragma busy_timeout = 5000');
  const add = database.prepare(`insert into rollup (kind, grain, at, status, bucket, subject, gateway, ends, longest)
    values (?, ?, ?, ?, ?, ?, 'planted', ?, ?) on conflict do update set ends = rollup.ends + excluded.ends`);
  const ended = (kind: string, of: { subject: string; status: string; at: number; duration: number; count: number }): void => {
    const length = microseconds(of);
    for (const grain of grains)
      for (const subject of new Set(['', of.subject]))
        add.run(kind, grain, of.at - (of.at % grain), of.status, bucketOf(length), subject, of.count, length);
  };
  const now = Date.now();
  for (let ago = 1; ago <= 72; ago += 1) {
    const at = now - ago * hour;
    const busy = 6 + Math.round(10 * Math.abs(Math.sin(ago / 4)));
    for (const subject of automations.values()) {
      ended('run', { subject, status: 'completed', at, duration: random.whole(900, 4_900), count: Math.ceil(busy / 4) });
      if (random.chance(0.08)) ended('run', { subject, status: 'faulted', at, duration: 2_500, count: 1 });
      if (random.chance(0.03)) ended('run', { subject, status: 'cancelled', at, duration: 700, count: 1 });
    }
    for (const [subject, share] of [
      ['Local NSO', 6],
      ['Ticket system', 1],
    ] as const) {
      ended('call', { subject, status: 'ok', at, duration: random.whole(60, 360), count: Math.ceil((busy * share) / 3) });
      if (random.chance(0.2)) ended('call', { subject, status: 'failed', at, duration: 500, count: 1 });
    }
  }
  database.close();
}
