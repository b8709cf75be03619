import type { ErrorCode } from './error-codes.ts';
import { GatewayError } from './gateway-error.ts';

/** What these refuse may be done later. A run waits for them; any other exception is a fault. */
const passingCodes: ReadonlySet<ErrorCode> = new Set([
  'store-unavailable',
  'audit-unavailable',
  'overloaded',
  'too-many-requests',
  'idempotency-key-in-use',
]);

export function isPassingRefusal(thrown: unknown): thrown is GatewayError {
  return thrown instanceof GatewayError && passingCodes.has(thrown.code);
}
