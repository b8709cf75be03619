import type { ErrorCode } from '#base/error-codes.ts';
import { GatewayError } from '#base/gateway-error.ts';

/** Why a login by an issuer failed, for the address of the login page. The console has words for each. */
export type LoginFailure =
  | 'unknown-issuer'
  | 'issuer-unavailable'
  | 'not-begun'
  | 'expired'
  | 'used'
  | 'refused'
  | 'not-valid'
  | 'blocked'
  | 'too-large'
  | 'throttled'
  | 'wrong-address'
  | 'unavailable';

/** A login by an issuer that failed, with a reason of the closed list for its person. */
export class LoginFailed extends GatewayError {
  readonly reason: LoginFailure;
  readonly why: string;
  /** Where the person wanted to go, as far as it is known. */
  readonly to: string;

  /** `why`: for the operator, without any text of the issuer. */
  constructor(reason: LoginFailure, why: string, { to = '', code = 'unauthenticated' }: FailurePlace = {}) {
    super(code, `The login by an issuer failed: ${why}`);
    this.reason = reason;
    this.why = why;
    this.to = to;
  }
}

interface FailurePlace {
  readonly to?: string;
  readonly code?: ErrorCode;
}

/** Any error of a login as its failure; undefined for one that is a fault of this process. */
export function asLoginFailed(error: unknown, to: string): LoginFailed | undefined {
  if (error instanceof LoginFailed) return new LoginFailed(error.reason, error.why, { to, code: error.code });
  if (!(error instanceof GatewayError)) return undefined;
  const { code, message } = error;
  return new LoginFailed(reasons.get(code) ?? 'unavailable', message, { to, code });
}

const reasons: ReadonlyMap<ErrorCode, LoginFailure> = new Map([
  ['login-throttled', 'throttled'],
  ['issuer-unavailable', 'issuer-unavailable'],
]);
