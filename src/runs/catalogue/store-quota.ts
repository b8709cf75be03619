import type { Principal } from '#access/principal.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { LimitReached } from '#base/limits.ts';

export type StoreQuota = ReturnType<typeof createStoreQuota>;

interface StoreQuotaOptions {
  /** Bytes of one principal; a reload changes it. */
  readonly limit: () => number;
  readonly usageOf: (principal: string) => Promise<number>;
  /** Makes room for so many bytes in what the principal has of task data, and answers for how many. */
  readonly dropTaskData: (principal: string, bytes: number) => Promise<number>;
  readonly clock: Clock;
  readonly limitReached: LimitReached;
}

/** Milliseconds for which a sum counts: the query is slow. */
const sumHolds = 5_000;
const maxKept = 1_000;
/** Of the limit: what is made free beyond what is needed, so that not each start has to look for task data. */
const spare = 0.02;

/** Limits what the runs, events, approvals and documents of one principal take of the store. */
export function createStoreQuota({ limit, usageOf, dropTaskData, clock, limitReached }: StoreQuotaOptions) {
  const sums = new Map<string, { readonly at: number; readonly bytes: Promise<number> }>();
  const sumOf = (id: string): Promise<number> => {
    const known = sums.get(id);
    if (known !== undefined && clock.monotonic() - known.at < sumHolds) return known.bytes;
    const bytes = usageOf(id);
    sums.delete(id);
    sums.set(id, { at: clock.monotonic(), bytes });
    bytes.catch(() => sums.delete(id));
    for (const oldest of sums.keys()) if (sums.size > maxKept) sums.delete(oldest);
    return bytes;
  };
  const hasRoom = async (id: string): Promise<boolean> => {
    const over = (await sumOf(id)) - limit();
    if (over < 0) return true;
    if ((await dropTaskData(id, over + Math.ceil(limit() * spare))) === 0) return false;
    sums.delete(id);
    return (await sumOf(id)) < limit();
  };
  return {
    /**
     * Task data of ended runs makes room for a new run or event. Rejects with `quota-reached` (429) where the principal has none, and with
     * `store-unavailable`.
     */
    async require({ id }: Pick<Principal, 'id'>): Promise<void> {
      if (await hasRoom(id)) return;
      limitReached('store-per-person');
      const mebibytes = Math.max(1, Math.round(limit() / 1024 ** 2));
      throw new GatewayError(
        'quota-reached',
        `Your runs, events, approvals and documents take ${mebibytes} MiB of the store, as much as one person may have (automations.storePerPerson). Runs that are old enough are deleted; ask the operator for more.`,
        { headers: { 'Retry-After': '60' } },
      );
    },
  };
}
