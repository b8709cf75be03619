import { GatewayError } from '#base/gateway-error.ts';
import type { LimitReached } from '#base/limits.ts';
import type { FreeSpace } from './free-space.ts';

/** Throws 503 `store-unavailable` while less is free on the disk than the reserve, which is kept for calls, their records and logins. */
export type RequireRoom = () => void;

export function createRequireRoom(freeSpace: Pick<FreeSpace, 'isShort'>, limitReached: LimitReached): RequireRoom {
  return () => {
    if (!freeSpace.isShort()) return;
    limitReached('store-reserve');
    const message =
      'The disk of the store is nearly full. Runs, events and new approvals wait until its operator makes room; calls and logins go on.';
    throw new GatewayError('store-unavailable', message, { headers: { 'Retry-After': '60' } });
  };
}
