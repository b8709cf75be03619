import type { Persons } from '#access/persons.ts';
import type { Principal } from '#access/principal.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { LimitReached } from '#base/limits.ts';
import type { ApprovalStore } from './approval-store.ts';

/** Open approvals that a person may have asked for, for calls and as questions of tasks, and the usual limit of what they hold. */
const maxOpen = 1_000;
const usualBytes = 100 * 1024 ** 2;

export interface RoomNeeds {
  readonly store: Pick<ApprovalStore, 'openOf'>;
  readonly persons: Persons;
  /** Bytes that the open approvals of a person have together; one alone may have more. */
  readonly maxBytes?: number;
  readonly limitReached?: LimitReached;
  /** Throws where the store has no room for a new approval. */
  readonly requireRoom?: () => void;
}

/** Whether there is room for one more open approval of the principal's person. `bytes`: of its body. Rejects where the disk has none. */
export async function hasRoom(
  { id }: Principal,
  bytes: number,
  { store, persons, maxBytes = usualBytes, requireRoom }: RoomNeeds,
): Promise<boolean> {
  requireRoom?.();
  const { count, bytes: held } = await store.openOf(persons.idsOf(id));
  return count < maxOpen && (held === 0 || held + bytes <= maxBytes);
}

export function tooMany({ limitReached }: RoomNeeds): GatewayError {
  limitReached?.('open-approvals');
  return new GatewayError(
    'too-many-requests',
    `You have asked for ${maxOpen} approvals that are still open, or for some with very long bodies. Wait until some of them are decided or have expired.`,
    { headers: { 'Retry-After': '60' } },
  );
}
