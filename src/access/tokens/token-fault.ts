import { errors } from 'jose';
import { OperationProcessingError } from 'oauth4webapi';

/** For the log: the caller gets one error for every token that is not valid. */
export interface RefusedToken {
  readonly refused: string;
  /** As the token names it, known or not. */
  readonly issuer?: string;
  /** Only of a verified signature. */
  readonly subject?: string;
}

/** Undefined for an error that says nothing about the token, such as a fault of this process. */
export function tokenFault(error: unknown): RefusedToken | undefined {
  if (error instanceof errors.JWTExpired) return { refused: 'expired', ...subjectOf(error.payload) };
  if (error instanceof errors.JWTClaimValidationFailed) return { refused: claimFault(error), ...subjectOf(error.payload) };
  if (error instanceof errors.JOSEAlgNotAllowed) return { refused: 'algorithm not allowed' };
  if (error instanceof errors.JWSSignatureVerificationFailed) return { refused: 'wrong signature' };
  if (error instanceof errors.JWSInvalid || error instanceof errors.JWTInvalid) return { refused: 'malformed' };
  // TypeError: a published key that does not suit its algorithm, such as RSA below 2,048 bits.
  if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException)
    return { refused: 'unusable key or header' };
  return undefined;
}

/** By an error of `oauth4webapi`; undefined: it is not about header or claims. */
export function idTokenFault(error: unknown): string | undefined {
  if (!(error instanceof OperationProcessingError)) return undefined;
  const { header, claims, claim, expected } = Object(error.cause) as Readonly<Record<string, unknown>>;
  if (header !== undefined) return 'algorithm not allowed';
  if (claims === undefined) return undefined;
  // The library expects no audience where it misses the authorized party.
  const decisive = claim === 'aud' && expected === undefined ? 'azp' : claim;
  return claimFaults.get(decisive) ?? (error.message.endsWith('missing') ? 'missing claim' : 'malformed');
}

const claimFaults: ReadonlyMap<unknown, string> = new Map([
  ['aud', 'wrong audience'],
  ['azp', 'wrong authorized party'],
  ['exp', 'expired'],
  ['nbf', 'not yet valid'],
  ['nonce', 'wrong nonce'],
  ['typ', 'wrong type'],
]);

function claimFault({ claim, reason }: errors.JWTClaimValidationFailed): string {
  if (reason === 'missing') return 'missing claim';
  return (reason === 'check_failed' ? claimFaults.get(claim) : undefined) ?? 'malformed';
}

function subjectOf({ sub }: { readonly sub?: unknown }): { readonly subject?: string } {
  return typeof sub === 'string' ? { subject: sub } : {};
}
