import { settleUnknownPeople } from '#automations/unknown-people-store.ts';
import type { Log } from '#base/log.ts';
import { visible } from '#base/visible.ts';
import type { Database } from '#database/database.ts';

/** Names, once, each automation of a store of an earlier gateway: the name of its last editor makes no person answer for it. */
export async function nameUnknownPeople({
  database,
  log,
}: {
  readonly database: Pick<Database, 'query' | 'read'>;
  readonly log: Log;
}): Promise<void> {
  for (;;) {
    const names = await settleUnknownPeople(database);
    if (names.length === 0) return;
    for (const name of names)
      log.warn('no person is known to answer for an automation; its schedule is paused until a person takes it', {
        path: visible(name),
      });
  }
}
