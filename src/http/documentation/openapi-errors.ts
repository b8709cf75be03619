import { type ErrorCode, errorCodes } from '#base/error-codes.ts';
import { type ApiRoute, accessOf } from '../route.ts';

/** Errors of the reading of any HTTP request; they include those of an unused body and of an unknown query parameter. */
const ofEveryRoute: readonly ErrorCode[] = [
  'malformed-request',
  'invalid-request',
  'method-not-allowed',
  'request-timeout',
  'body-too-large',
  'headers-too-large',
  'internal-error',
];
/** Errors of authentication, which uses the store, the login throttle and issuers, and of the rate limit. */
const ofKnownCallers: readonly ErrorCode[] = [
  'unauthenticated',
  'login-throttled',
  'too-many-requests',
  'issuer-unavailable',
  'store-unavailable',
];
const ofIdempotencyKeys: readonly ErrorCode[] = ['idempotency-key-in-use', 'reply-not-kept', 'idempotency-key-reused'];
const order = Object.keys(errorCodes) as readonly ErrorCode[];

/** Every error code of a route, in the order of `errorCodes`: those that follow from its properties, and those in its `errors`. */
export function errorsOf(route: ApiRoute): readonly ErrorCode[] {
  const codes = new Set<ErrorCode>([...ofEveryRoute, ...(route.errors ?? [])]);
  const add = (more: readonly ErrorCode[]): void => more.forEach((code) => codes.add(code));
  if (route.method !== 'GET') add(['cross-site']);
  const access = accessOf(route);
  if (access !== 'everyone') add(ofKnownCallers);
  if (typeof access !== 'string') add(['forbidden']);
  if (route.sheddable) add(['overloaded']);
  if (route.body !== undefined) add(['unsupported-media-type']);
  if (route.idempotency !== undefined) add(ofIdempotencyKeys);
  if (route.body?.kind === 'json') add(['invalid-json']);
  return order.filter((code) => codes.has(code));
}

/**
 * The statuses of a code: that of the table, and others. `outcome-unknown` also has that of a time-out and that of a repeated
 * Idempotency-Key. `workflow-not-found` also has 409, where an automation names the workflow.
 */
export function statusesOf(code: ErrorCode): readonly number[] {
  const { status } = errorCodes[code];
  if (code === 'outcome-unknown')
    return [status, errorCodes['upstream-timeout'].status, errorCodes['idempotency-key-in-use'].status];
  return code === 'workflow-not-found' ? [status, errorCodes['run-conflict'].status] : [status];
}
