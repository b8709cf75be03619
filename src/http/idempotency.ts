import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Authentication } from '#access/authentication.ts';
import { type IdempotentRequest, idempotentRequest } from '#audit/idempotency/idempotent-request.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Route } from './route.ts';

/** What identifies a request with an Idempotency-Key; undefined where it has none. Throws 400 where the key is malformed. */
export function idempotentRequestOf(
  route: Route,
  request: {
    readonly raw: Pick<IncomingMessage, 'headers'>;
    readonly caller?: Authentication | undefined;
    readonly params: Readonly<Record<string, string>>;
    readonly body?: Buffer | undefined;
  },
): IdempotentRequest | undefined {
  if (route.idempotency === undefined || request.caller === undefined) return undefined;
  const { headers } = request.raw;
  const key = idempotencyKeyOf(headers);
  if (key === undefined) return undefined;
  const passedOn = route.idempotency.headers.map((name) => JSON.stringify(headers[name] ?? null));
  return idempotentRequest({
    caller: request.caller.principal.id,
    route: JSON.stringify([route.method, route.url, request.params]),
    key,
    payload: [request.body ?? '', ...passedOn],
  });
}

/** The Idempotency-Key of a request, if any. Throws 400 where it is malformed. */
export function idempotencyKeyOf(headers: IncomingHttpHeaders): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/u.test(key))
    throw new GatewayError('malformed-request', 'The Idempotency-Key is not 1 to 255 visible ASCII characters without spaces.');
  return key;
}
