import { type ErrorCode, errorCodes } from '#base/error-codes.ts';
import type { Route } from '#http/route.ts';

/** What the reading of any HTTP request can end in, with a body that nobody asked for too, and a query parameter that the route does not know. */
const ofEveryRoute: readonly ErrorCode[] = [
  'malformed-request',
  'invalid-request',
  'method-not-allowed',
  'request-timeout',
  'body-too-large',
  'headers-too-large',
  'internal-error',
];
/** Credentials are checked against the store, with the login throttle in between; then the caller's rate is. */
const ofKnownCallers: readonly ErrorCode[] = ['unauthenticated', 'login-throttled', 'too-many-requests', 'store-unavailable'];
const ofIdempotencyKeys: readonly ErrorCode[] = ['idempotency-key-in-use', 'reply-not-kept', 'idempotency-key-reused'];
const order = Object.keys(errorCodes) as readonly ErrorCode[];

/** Every code that a route can answer with, in the order of the table: those that follow from its properties and those it names. */
export function errorsOf(route: Route): readonly ErrorCode[] {
  const codes = new Set<ErrorCode>([...ofEveryRoute, ...route.docs.errors]);
  const add = (more: readonly ErrorCode[]): void => more.forEach((code) => codes.add(code));
  if (route.access !== 'everyone') add(ofKnownCallers);
  if (typeof route.access !== 'string') add(['forbidden']);
  if (route.sheddable) add(['overloaded']);
  if (route.body !== undefined) add(['unsupported-media-type']);
  if (route.idempotency !== undefined) add(ofIdempotencyKeys);
  if (route.body?.kind === 'json') add(['invalid-json']);
  return order.filter((code) => codes.has(code));
}

/** The statuses a code comes with: the table's, and for `outcome-unknown` also that of a time-out and that of a repeated Idempotency-Key. */
export function statusesOf(code: ErrorCode): readonly number[] {
  const { status } = errorCodes[code];
  return code === 'outcome-unknown'
    ? [status, errorCodes['upstream-timeout'].status, errorCodes['idempotency-key-in-use'].status]
    : [status];
}
