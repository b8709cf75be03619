import { type CallRecord, ownChange } from './call-record.ts';

/**
 * Makes a change to what the gateway itself has. `change` awaits `intend` before the change counts: the request is then on disk, with what is
 * noted of it. `intend` rejects with 503 `audit-unavailable` where it cannot be written, and with CallerLeft where the caller left before. The outcome is on
 * record before the reply.
 */
export async function recordOwnChange<T>(record: CallRecord, change: (intend: () => Promise<void>) => Promise<T>): Promise<T> {
  let result: Parameters<CallRecord['recordOutcome']>[0] = ownChange;
  try {
    return await change(async () => {
      await record.intend();
    });
  } catch (failure) {
    result = { failure };
    throw failure;
  } finally {
    if (record.isIntended) await record.recordOutcome(result);
  }
}
