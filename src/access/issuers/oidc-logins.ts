import { randomBytes } from 'node:crypto';
import type { AuthorizationServer } from 'oauth4webapi';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import type { AccessRules, TrustedIssuer } from '../access-rules.ts';
import type { AccessWatcher, CredentialCheckOutcome } from '../access-watcher.ts';
import type { RequestOrigin } from '../authentication.ts';
import type { LoginThrottle } from '../passwords/login-throttle.ts';
import type { Principal } from '../principal.ts';
import { type GatewayTokens, maxCookieSize, type TokenHolder } from '../tokens/gateway-tokens.ts';
import type { RevokedTokenStore } from '../tokens/revoked-token-store.ts';
import type { SessionCookie } from '../tokens/session-cookie.ts';
import { createTokenLog } from '../tokens/token-authenticator.ts';
import { asLoginFailed, authorizationAddress, identify, LoginFailed, type LoginFailure, readLoginReply } from './code-flow.ts';
import type { KnownPersons } from './known-persons.ts';
import { type LoginBinding, type LoginCookie, type LoginState, loginSeconds } from './login-binding.ts';
import { areNamesLeftOut, groupValues, namesIn } from './oidc-claims.ts';
import type { IssuerFetch } from './oidc-discovery.ts';

interface LoginStart {
  /** Undefined: the only one. */
  readonly issuer: string | undefined;
  /** A path below the console. */
  readonly to: string;
  /** Where the issuer sends the browser back; undefined: the gateway does not know its own address. */
  readonly redirectUri: string | undefined;
  /** The header. */
  readonly cookie: string | undefined;
}

interface LoginReturn extends RequestOrigin, Pick<LoginStart, 'redirectUri' | 'cookie'> {
  /** What the issuer sent with the browser. */
  readonly reply: URLSearchParams;
  /** Called once the issuer has said who it is. */
  readonly tried?: (principal: Principal) => void;
}

interface OidcLoginsOptions {
  readonly rules: () => AccessRules;
  readonly tokens: GatewayTokens;
  readonly throttle: LoginThrottle;
  /** Remembers logins. */
  readonly ended: RevokedTokenStore;
  readonly fetch: IssuerFetch;
  readonly loginCookie: LoginCookie;
  readonly sessionCookie: SessionCookie;
  readonly clock: Clock;
  readonly log: Log;
  readonly watcher: AccessWatcher;
  readonly persons: Pick<KnownPersons, 'note'>;
}

interface LoginIssuer extends TrustedIssuer {
  readonly clientId: string;
}

/** A login that its browser has begun, and the checked reply of the issuer. */
interface ReturnedLogin {
  readonly issuer: LoginIssuer;
  readonly server: AuthorizationServer;
  readonly binding: LoginBinding;
  readonly state: LoginState;
  readonly reply: URLSearchParams;
  readonly redirectUri: string;
}

/** The authorization code flow with PKCE (OpenID Connect Core 1.0, RFC 7636, RFC 9700). */
export function createOidcLogins(options: OidcLoginsOptions) {
  const { rules, clock, log, loginCookie, watcher } = options;
  const tokenLog = createTokenLog(log);
  return {
    /** In the order of the configuration. */
    issuers: (): readonly string[] => loginIssuers(rules()).map(({ issuer }) => issuer.issuer),

    /** `location` at the issuer; `cookie`: the `Set-Cookie` value that binds the login. Rejects with LoginFailed or 503. */
    async begin(start: LoginStart) {
      try {
        return await begin(start, options);
      } catch (error) {
        throw asLoginFailed(error, start.to) ?? error;
      }
    },

    /**
     * `cookie`: the session as a `Set-Cookie` value. `areGroupsLeftOut`: the issuer left them out of the token, so the session has none.
     * Rejects with LoginFailed, 429 or 503.
     */
    async finish(back: LoginReturn) {
      const { sourceAddress, requestId } = back;
      const startedWith = rules();
      const origin = { sourceAddress, requestId };
      let state: LoginState | undefined;
      try {
        const binding = loginCookie.read(back.cookie);
        state = stateOf(binding, back.reply);
        const returned = await readReturn(back, binding, state, startedWith, clock);
        const { cookie, principal, areGroupsLeftOut } = await logIn(returned, { ...back, rules: startedWith }, options);
        tokenLog.accepted(origin, { principal, areGroupsLeftOut }, startedWith);
        watcher.credentialsChecked('issuer', 'ok');
        return { to: state.to, cookie, areGroupsLeftOut };
      } catch (error) {
        const failure = asLoginFailed(error, state?.to ?? '');
        if (failure === undefined) throw error;
        watcher.credentialsChecked('issuer', outcomes.get(failure.reason) ?? 'wrong');
        log.warn('login failed', { ...origin, issuer: state?.issuer, reason: failure.why });
        throw failure;
      }
    },
  };
}

const outcomes: ReadonlyMap<LoginFailure, CredentialCheckOutcome> = new Map([
  ['throttled', 'throttled'],
  ['issuer-unavailable', 'error'],
  ['unavailable', 'error'],
]);

async function begin(
  { issuer: name, to, redirectUri, cookie: header }: LoginStart,
  { rules, clock, loginCookie }: OidcLoginsOptions,
) {
  const issuer = issuerNamed(rules(), name);
  const uri = knownAddress(redirectUri);
  const server = await issuer.keys.server();
  const { binding, cookie } = loginCookie.begin(header);
  const id = randomBytes(16).toString('base64url');
  const location = await authorizationAddress(server, {
    clientId: issuer.clientId,
    redirectUri: uri,
    state: binding.seal({ id, issuer: issuer.issuer.issuer, to, expiresAt: clock.now() + loginSeconds * 1000 }),
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
  const [found, ...more] = loginIssuers(rules).filter(({ issuer }) => name === undefined || issuer.issuer === name);
  if (found === undefined || more.length > 0) throw new LoginFailed('unknown-issuer', 'no issuer of this name takes logins');
  return found;
}

function knownAddress(redirectUri: string | undefined): string {
  if (redirectUri !== undefined) return redirectUri;
  throw new LoginFailed('wrong-address', 'Host names another address than the gateway has: set server.publicUrl');
}

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
): Promise<ReturnedLogin> {
  const left = state.expiresAt - clock.now();
  if (left <= 0 || left > loginSeconds * 1000) throw new LoginFailed('expired', 'it took longer than 10 minutes');
  const issuer = issuerNamed(rules, state.issuer);
  const uri = knownAddress(redirectUri);
  const server = await issuer.keys.server();
  const read = readLoginReply(server, issuer.clientId, reply);
  if (binding === undefined) throw new LoginFailed('not-begun', 'its cookie is missing');
  return { issuer, server, binding, state, reply: read, redirectUri: uri };
}

/** Counts a failure against the address, so that no caller makes the gateway ask the issuer without end. */
async function logIn(
  returned: ReturnedLogin,
  { sourceAddress, tried, rules }: Pick<LoginReturn, 'sourceAddress' | 'tried'> & { readonly rules: AccessRules },
  options: OidcLoginsOptions,
) {
  const { throttle, ended, tokens, sessionCookie } = options;
  const { id, expiresAt } = returned.state;
  const endedId = `login:${id}`;
  const hasEnded = (): LoginFailed => new LoginFailed('used', 'it has ended already');
  const attempt = await throttle.admit({ sourceAddress });
  try {
    if ((await ended.among([endedId])).has(endedId)) throw hasEnded();
    const { holder, ...person } = await identifyPerson(returned, rules, options);
    tried?.(person.principal);
    if (rules.isBlocked(person.principal.id)) throw new LoginFailed('blocked', 'access.blocked has the person');
    const { token, lifetimeSeconds } = await tokens.issue(holder, rules.tokenLifetime);
    if (token.length > maxCookieSize) throw new LoginFailed('too-large', 'its roles and groups do not fit into a cookie');
    if (!(await ended.add(endedId, expiresAt))) throw hasEnded();
    await attempt.succeeded();
    return { cookie: sessionCookie.write({ token, lifetimeSeconds }), ...person };
  } catch (error) {
    // An issuer that is away says nothing about the person.
    if (asLoginFailed(error, '')?.reason === 'issuer-unavailable') await attempt.abandoned();
    throw error;
  }
}

async function identifyPerson(
  { issuer: { issuer, keys, fingerprint, clientId }, binding, state, ...returned }: ReturnedLogin,
  rules: AccessRules,
  { fetch, clock, persons }: OidcLoginsOptions,
) {
  const verifier = binding.verifierOf(state.id);
  const nonce = binding.nonceOf(state.id);
  const claims = await identify({ ...returned, issuer, keys, clientId, verifier, nonce, fetch, clock });
  const principal = rules.principalOf(claims, issuer);
  if (principal?.subject === undefined) throw new LoginFailed('not-valid', 'the ID token has an unusable name');
  if (!rules.isBlocked(principal.id)) await persons.note(issuer, principal, claims);
  const { preferred_username: preferred } = claims;
  const named = namesIn(claims, issuer.rolesClaim);
  const holder: TokenHolder = {
    kind: 'oidc',
    name: principal.subject,
    fingerprint,
    issuer: issuer.issuer,
    // The configuration in force adds what groups give, for each request.
    roles: principal.roles.filter((role) => named.includes(role)),
    groups: groupValues(namesIn(claims, issuer.groupsClaim), issuer.groupNames),
    ...(typeof preferred === 'string' && { preferred }),
  };
  return { holder, principal, areGroupsLeftOut: areNamesLeftOut(claims, issuer) };
}
