import type { Secret } from '#base/secret.ts';
import type { SecretFault } from '../secrets/kept-secret.ts';
import { ownKinds } from '../secrets/own-kinds.ts';
import { readSecret, type SourceKinds } from '../secrets/secret-reading.ts';
import { vaultKind } from '../secrets/vault-section.ts';
import type { Shape } from './shape.ts';

const kinds: SourceKinds = { ...ownKinds, vault: vaultKind };
const refuseNone: SecretFault = () => undefined;

/** A value has at most 64 KiB, without one final line break; plain text is a warning. No message holds any part of the value. */
export function secret({ refuse = refuseNone, more = {} }: SecretOptions = {}): Shape<Secret> {
  return { type: 'secret', read: (place) => readSecret(place, { kinds: { ...kinds, ...more }, refuse }) };
}

interface SecretOptions {
  readonly refuse?: SecretFault;
  /** Further kinds of sources. */
  readonly more?: SourceKinds;
}

/** Visible ASCII, with spaces and tabs within (RFC 9110 section 5.5). */
export function headerValueFault(value: string): string | undefined {
  if (/^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/u.test(value)) return undefined;
  return 'cannot be sent in an HTTP header: it has characters other than visible ASCII, or white space at an end (a stray newline?)';
}

/** RFC 6750 section 2.1. */
export function bearerTokenFault(value: string): string | undefined {
  return /^[A-Za-z0-9._~+/-]+=*$/u.test(value)
    ? undefined
    : 'is no bearer token (RFC 6750): it has other characters than A-Z a-z 0-9 . _ ~ + / - =';
}

/** RFC 7617 section 2: no control characters. */
export function basicPasswordFault(value: string): string | undefined {
  return /\p{Cc}/u.test(value) ? 'holds a control character, which HTTP Basic does not allow (a stray newline?)' : undefined;
}
