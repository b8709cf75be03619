import type { Principal } from '#access/principal.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { LimitReached } from '#base/limits.ts';

/** What the runs, events and approvals of one principal may take of the store. */
export interface StoreQuota {
  /** Rejects with `quota-reached` (429) where the principal has no room for a new run or event, and with `store-unavailable`. */
  require(principal: Pick<Principal, 'id'>): Promise<void>;
}

interface StoreQuotaOptions {
  /** Bytes of one principal. Read for each question, since a reload changes it. */
  readonly limit: () => number;
  readonly usageOf: (principal: string) => Promise<number>;
  readonly clock: Clock;
  readonly limitReached: LimitReached;
}

/** Milliseconds for which a sum counts: it is no quick query. */
const sumHolds = 5_000;
/** Principals whose sums are kept. */
const mostKept = 1_000;

export function createStoreQuota({ limit, usageOf, clock, limitReached }: StoreQuotaOptions): StoreQuota {
  const sums = new Map<string, { readonly at: number; readonly bytes: Promise<number> }>();
  const sumOf = (id: string): Promise<number> => {
    const known = sums.get(id);
    if (known !== undefined && clock.monotonic() - known.at < sumHolds) return known.bytes;
    const bytes = usageOf(id);
    sums.delete(id);
    sums.set(id, { at: clock.monotonic(), bytes });
    bytes.catch(() => sums.delete(id));
    for (const oldest of sums.keys()) if (sums.size > mostKept) sums.delete(oldest);
    return bytes;
  };
  return {
    async require({ id }) {
      if ((await sumOf(id)) < limit()) return;
      limitReached('store-per-person');
      throw quotaReached(limit());
    },
  };
}

function quotaReached(limit: number): GatewayError {
  const mebibytes = Math.max(1, Math.round(limit / 1024 ** 2));
  return new GatewayError(
    'quota-reached',
    `Your runs, events and approvals take ${mebibytes} MiB of the store, as much as one person may have (automations.storePerPerson). Runs that are old enough are deleted; ask the operator for more.`,
    { headers: { 'Retry-After': '60' } },
  );
}
