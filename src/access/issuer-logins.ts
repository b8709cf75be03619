import { randomBytes } from 'node:crypto';
import type { AuthorizationServer } from 'oauth4webapi';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import type { AccessRules, TrustedIssuer } from './access-rules.ts';
import type { AccessWatcher, CredentialCheckOutcome } from './access-watcher.ts';
import { authorizationAddress, identify, readLoginReply } from './code-flow.ts';
import { type GatewayTokens, type TokenHolder, tokenFits } from './gateway-tokens.ts';
import type { KnownPersons } from './known-persons.ts';
import { type LoginBinding, type LoginCookie, type LoginState, loginSeconds } from './login-binding.ts';
import { asLoginFailed, LoginFailed, type LoginFailure } from './login-failure.ts';
import type { LoginThrottle } from './login-throttle.ts';
import { areNamesLeftOut, groupValues, namesIn } from './oidc-claims.ts';
import type { IssuerFetch } from './oidc-discovery.ts';
import type { Principal } from './principal.ts';
import type { RevokedTokenStore } from './revoked-token-store.ts';
import type { SessionCookie } from './session-cookie.ts';
import { createTokenLog } from './token-log.ts';

interface LoginStart {
  /** Undefined: the only one by which people can log in. */
  readonly issuer: string | undefined;
  /** Where the person wants to go, a path below the console. */
  readonly to: string;
  /** Where the issuer sends the browser back; undefined where the gateway cannot know its own address. */
  readonly redirectUri: string | undefined;
  /** The `Cookie` header. */
  readonly cookie: string | undefined;
}

interface LoginReturn extends Pick<LoginStart, 'redirectUri' | 'cookie'> {
  /** What the issuer sent with the browser. */
  readonly reply: URLSearchParams;
  readonly sourceAddress: string;
  readonly requestId?: string | undefined;
  /** Called with the person once the issuer has said who it is. */
  readonly tried?: (principal: Principal) => void;
}

/** Logins of people by an issuer: the authorization code flow with PKCE (OpenID Connect Core 1.0, RFC 7636, RFC 9700). */
export interface IssuerLogins {
  /** The issuers by which people can log in, in the order of the configuration. */
  issuers(): readonly string[];
  /** Resolves with the address at the issuer, and the `Set-Cookie` value that binds the login. Rejects with LoginFailed or 503. */
  begin(start: LoginStart): Promise<{ readonly location: string; readonly cookie: string }>;
  /**
   * Resolves with the session as a `Set-Cookie` value, and where the person wanted to go. Rejects with LoginFailed, 429 or 503.
   * `areGroupsLeftOut`: the session has no groups, because the issuer left them out of the token.
   */
  finish(back: LoginReturn): Promise<{ readonly to: string; readonly cookie: string; readonly areGroupsLeftOut: boolean }>;
}

interface IssuerLoginsOptions {
  readonly rules: () => AccessRules;
  readonly tokens: GatewayTokens;
  readonly throttle: LoginThrottle;
  /** Remembers the logins that have ended. */
  readonly ended: RevokedTokenStore;
  readonly fetch: IssuerFetch;
  readonly loginCookie: LoginCookie;
  readonly sessionCookie: SessionCookie;
  readonly clock: Clock;
  readonly log: Log;
  readonly watcher: AccessWatcher;
  readonly persons: Pick<KnownPersons, 'note'>;
}

/** An issuer by which people can log in. */
interface LoginIssuer extends TrustedIssuer {
  readonly clientId: string;
}

/** A login that its browser has begun, and what the issuer answered. */
interface Returned {
  readonly issuer: LoginIssuer;
  readonly server: AuthorizationServer;
  readonly binding: LoginBinding;
  readonly state: LoginState;
  /** The issuer's reply, checked. */
  readonly reply: URLSearchParams;
  readonly redirectUri: string;
}

export function createIssuerLogins(options: IssuerLoginsOptions): IssuerLogins {
  const { rules, clock, log, loginCookie, watcher } = options;
  const tokenLog = createTokenLog(log);
  return {
    issuers: () => loginIssuers(rules()).map(({ issuer }) => issuer.issuer),

    async begin(start) {
      try {
        return await begun(start, options);
      } catch (error) {
        throw asLoginFailed(error, start.to) ?? error;
      }
    },

    async finish(back) {
      const { sourceAddress, requestId } = back;
      const startedWith = rules();
      const origin = { sourceAddress, ...(requestId === undefined ? {} : { requestId }) };
      let state: LoginState | undefined;
      try {
        const binding = loginCookie.read(back.cookie);
        state = stateOf(binding, back.reply);
        const returned = await readReturn(back, binding, state, startedWith, clock);
        const { cookie, principal, areGroupsLeftOut } = await loggedIn(returned, { ...back, rules: startedWith }, options);
        tokenLog.accepted(origin, { principal, areGroupsLeftOut }, startedWith);
        watcher.credentialsChecked('issuer', 'ok');
        return { to: state.to, cookie, areGroupsLeftOut };
      } catch (error) {
        const failed = asLoginFailed(error, state?.to ?? '');
        if (failed === undefined) throw error;
        watcher.credentialsChecked('issuer', outcomes.get(failed.reason) ?? 'wrong');
        log.warn('login failed', { ...origin, ...(state === undefined ? {} : { issuer: state.issuer }), reason: failed.why });
        throw failed;
      }
    },
  };
}

const outcomes: ReadonlyMap<LoginFailure, CredentialCheckOutcome> = new Map([
  ['throttled', 'throttled'],
  ['issuer-unavailable', 'error'],
  ['unavailable', 'error'],
]);

async function begun(
  { issuer: name, to, redirectUri, cookie: header }: LoginStart,
  { rules, clock, loginCookie }: IssuerLoginsOptions,
): ReturnType<IssuerLogins['begin']> {
  const issuer = issuerNamed(rules(), name);
  const uri = knownAddress(redirectUri);
  const server = await issuer.keys.server();
  const { binding, cookie } = loginCookie.begin(header);
  const id = randomBytes(16).toString('base64url');
  const state = { id, issuer: issuer.issuer.issuer, to, expiresAt: clock.now() + loginSeconds * 1000 };
  const location = await authorizationAddress(server, {
    clientId: issuer.clientId,
    redirectUri: uri,
    state: binding.seal(state),
    nonce: binding.nonceOf(id),
    verifier: binding.verifierOf(id),
  });
  return { location, cookie };
}

function loginIssuers({ issuers }: AccessRules): readonly LoginIssuer[] {
  return [...issuers.values()].flatMap((trusted) => {
    const { consoleClientId: clientId } = trusted.issuer;
    return clientId === undefined ? [] : [{ ...trusted, clientId }];
  });
}

function issuerNamed(rules: AccessRules, name: string | undefined): LoginIssuer {
  const issuers = loginIssuers(rules);
  const [found, ...more] = name === undefined ? issuers : issuers.filter(({ issuer }) => issuer.issuer === name);
  if (found === undefined || more.length > 0) throw new LoginFailed('unknown-issuer', 'no issuer of this name takes logins');
  return found;
}

function knownAddress(redirectUri: string | undefined): string {
  if (redirectUri !== undefined) return redirectUri;
  throw new LoginFailed('wrong-address', 'Host names another address than the gateway has: set server.publicUrl');
}

/** The login that this browser began. */
function stateOf(binding: LoginBinding | undefined, reply: URLSearchParams): LoginState {
  const [sealed, ...more] = reply.getAll('state');
  const state = sealed === undefined || more.length > 0 ? undefined : binding?.open(sealed);
  if (state === undefined) throw new LoginFailed('not-begun', 'this browser did not begin it, or its cookie has expired');
  return state;
}

async function readReturn(
  { reply, redirectUri }: LoginReturn,
  binding: LoginBinding | undefined,
  state: LoginState,
  rules: AccessRules,
  clock: Clock,
): Promise<Returned> {
  const left = state.expiresAt - clock.now();
  if (left <= 0 || left > loginSeconds * 1000) throw new LoginFailed('expired', 'it took longer than 10 minutes');
  const issuer = issuerNamed(rules, state.issuer);
  const uri = knownAddress(redirectUri);
  const server = await issuer.keys.server();
  const read = readLoginReply(server, issuer.clientId, reply);
  if (binding === undefined) throw new LoginFailed('not-begun', 'its cookie is missing');
  return { issuer, server, binding, state, reply: read, redirectUri: uri };
}

/** Counts a failure at the issuer against the address, so that no caller makes the gateway ask the issuer without end. */
async function loggedIn(
  returned: Returned,
  { sourceAddress, tried, rules }: Pick<LoginReturn, 'sourceAddress' | 'tried'> & { readonly rules: AccessRules },
  options: IssuerLoginsOptions,
): Promise<Omit<LoggedInPerson, 'holder'> & { readonly cookie: string }> {
  const { throttle, ended, tokens, sessionCookie } = options;
  const { id, expiresAt } = returned.state;
  const endedId = `login:${id}`;
  const attempt = await throttle.admit({ sourceAddress });
  try {
    if ((await ended.among([endedId])).has(endedId)) throw alreadyEnded();
    const { holder, ...person } = await personOf(returned, rules, options);
    tried?.(person.principal);
    if (rules.isBlocked(person.principal.id)) throw new LoginFailed('blocked', 'access.blocked has the person');
    const { token, lifetimeSeconds } = await tokens.issue(holder, rules.tokenLifetime);
    if (!tokenFits(token)) throw new LoginFailed('too-large', 'its roles and groups do not fit into a cookie');
    if (!(await ended.add(endedId, expiresAt))) throw alreadyEnded();
    await attempt.succeeded();
    return { cookie: sessionCookie.write({ token, lifetimeSeconds }), ...person };
  } catch (error) {
    // An issuer that is away says nothing about the person.
    if (asLoginFailed(error, '')?.reason === 'issuer-unavailable') await attempt.abandoned();
    throw error;
  }
}

function alreadyEnded(): LoginFailed {
  return new LoginFailed('used', 'it has ended already');
}

interface LoggedInPerson {
  readonly holder: TokenHolder;
  readonly principal: Principal;
  readonly areGroupsLeftOut: boolean;
}

/** Exchanges the code, and reads who the person is from the ID token. */
async function personOf(
  { issuer: { issuer, keys, fingerprint, clientId }, binding, state, ...returned }: Returned,
  rules: AccessRules,
  { fetch, clock, persons }: IssuerLoginsOptions,
): Promise<LoggedInPerson> {
  const verifier = binding.verifierOf(state.id);
  const nonce = binding.nonceOf(state.id);
  const claims = await identify({ ...returned, issuer, keys, clientId, verifier, nonce, fetch, clock });
  const principal = rules.principalOf(claims, issuer);
  if (principal?.subject === undefined) throw new LoginFailed('not-valid', 'the ID token has an unusable name');
  if (!rules.isBlocked(principal.id)) await persons.note(issuer, principal, claims);
  const { preferred_username: preferred } = claims;
  const named = namesIn(claims, issuer.rolesClaim);
  // What groups give is added for each request, by the configuration in force.
  const roles = principal.roles.filter((role) => named.includes(role));
  const groups = groupValues(namesIn(claims, issuer.groupsClaim), issuer.groupNames);
  const known = { kind: 'oidc', name: principal.subject, fingerprint, issuer: issuer.issuer, roles, groups } as const;
  const holder = typeof preferred === 'string' ? { ...known, preferred } : known;
  return { holder, principal, areGroupsLeftOut: areNamesLeftOut(claims, issuer) };
}
