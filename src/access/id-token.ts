import { timingSafeEqual } from 'node:crypto';
import type { JWTPayload } from 'jose';
import { type ClaimRules, verifiedClaims } from './issuer-claims.ts';
import type { RefusedToken } from './token-fault.ts';
import { tokenLengthAtMost } from './token-verdict.ts';

/** An ID token; an access token (`at+jwt`, RFC 9068) does not say who logged in. */
const types: ReadonlySet<string> = new Set(['jwt']);

interface IdTokenRules extends Pick<ClaimRules, 'issuer' | 'keys' | 'clock'> {
  readonly clientId: string;
  readonly nonce: string;
}

/**
 * The claims of an ID token that the issuer made for this client and this login (OpenID Connect Core 1.0, section 3.1.3.7), or a fault.
 * Rejects with 503 if the keys of the issuer are not available.
 */
export async function verifyIdToken(
  token: string,
  { clientId, nonce, ...rules }: IdTokenRules,
): Promise<{ readonly claims: JWTPayload } | RefusedToken> {
  if (token.length > tokenLengthAtMost) return { refused: 'too long' };
  const verified = await verifiedClaims(token, { ...rules, audience: clientId, required: ['exp', 'iat', 'sub', 'nonce'], types });
  if ('refused' in verified) return verified;
  const { claims } = verified;
  if (!isSame(claims['nonce'], nonce)) return { refused: 'wrong nonce' };
  if (!isForClient(claims, clientId)) return { refused: 'wrong authorized party' };
  return { claims };
}

function isSame(given: unknown, expected: string): boolean {
  const [one, other] = [Buffer.from(String(given)), Buffer.from(expected)];
  return typeof given === 'string' && one.length === other.length && timingSafeEqual(one, other);
}

/** A token for several parties has to name the client that it was issued to. */
function isForClient({ azp, aud }: JWTPayload & { readonly azp?: unknown }, clientId: string): boolean {
  return azp === clientId || (azp === undefined && (!Array.isArray(aud) || aud.length === 1));
}
