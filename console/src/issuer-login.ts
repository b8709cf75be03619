import { gatewayAddress } from './address.ts';

const words: Readonly<Record<string, string>> = {
  'unknown-issuer': 'The gateway knows no such login. Choose one of those below.',
  'issuer-unavailable': 'The login service cannot be reached, or does not answer as it should. Try again later.',
  'not-begun': 'This browser did not begin that login, or began it too long ago. Log in again.',
  expired: 'The login took longer than ten minutes. Log in again.',
  used: 'That login has ended already. Log in again.',
  refused: 'The login service refused the login.',
  'not-valid': 'The gateway does not accept the answer of the login service. Its log says why.',
  blocked: 'The operator of the gateway has blocked your account.',
  'too-large': 'Your account has more groups than a session can hold. The operator can let the login service name fewer.',
  throttled: 'Too many logins from your address have failed. Wait a while, then try again.',
  'wrong-address': 'The gateway does not know the address of this page as its own. The operator sets server.publicUrl.',
};

/** What went wrong with a login by an issuer, by the reason that the gateway gave. Any other reason has the same words. */
export function failureWords(reason: string): string {
  return Object.hasOwn(words, reason) ? (words[reason] ?? '') : 'The login failed. Try again later.';
}

/** What a person has to know of a login that succeeded; undefined for a notice that the console does not know. */
export function noticeWords(notice: string): string | undefined {
  if (notice !== 'groups-left-out') return undefined;
  return 'You are logged in, without your groups: the login service left them out, as you have too many. The operator can let it name fewer.';
}

/** The address that begins a login. `to`: the page to open after it. */
export function loginHref(issuer: string, to: string): string {
  const query = new URLSearchParams({ issuer, ...(to === '' ? {} : { to }) });
  return new URL(`login/oidc?${query.toString()}`, gatewayAddress).href;
}

/** The short name of an issuer: its host, with its path where another one has the same host. */
export function issuerName(issuer: string, all: readonly string[]): string {
  const { host, pathname } = new URL(issuer);
  const isAlone = all.filter((other) => new URL(other).host === host).length === 1;
  return isAlone ? host : `${host}${pathname}`;
}
