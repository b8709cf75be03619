import type { Clock } from '#base/clock.ts';
import { every } from '#base/every.ts';
import type { Log } from '#base/log.ts';
import type { Database } from '#database/database.ts';
import type { AccessOptions } from './access-options.ts';
import { createAccessRules } from './access-rules.ts';
import { type AccessWatcher, noAccessWatcher } from './access-watcher.ts';
import { type Authenticate, createAuthenticate } from './authenticate.ts';
import { createBasicAuthenticator } from './basic-authenticator.ts';
import { createCredentialCheck } from './credential-check.ts';
import { createGatewayTokens } from './gateway-tokens.ts';
import { createLoginThrottle } from './login-throttle.ts';
import { createLoginThrottleStore } from './login-throttle-store.ts';
import type { FetchDocument } from './oidc-keys.ts';
import type { matchesPassword } from './password-hash.ts';
import { createPasswordVerifier } from './password-verifier.ts';
import type { Principal } from './principal.ts';
import { createRevocations } from './revocations.ts';
import { createRevokedTokenStore } from './revoked-token-store.ts';
import { createSessions, type Sessions } from './sessions.ts';
import { createSigningKeyStore } from './signing-key-store.ts';
import { createSigningKeys } from './signing-keys.ts';
import { createTokenAuthenticator } from './token-authenticator.ts';
import { createCacheKey } from './verified-cache.ts';

const maintenanceInterval = 60_000;

/** Revocations outlive their tokens by this much, for gateways whose clocks differ. */
const revocationsKeptFor = 3_600_000;

/** Who may call the gateway: authenticators, sessions, and what they keep in the store (contract section 6). */
export interface Access extends Sessions {
  readonly authenticate: Authenticate;
  /**
   * The user or client of that name, with the roles and groups of the configuration in force: for calls that no request brings, such as
   * a scheduled run's. `undefined` where the configuration has neither.
   */
  principalNamed(username: string): Principal | undefined;
  /** Takes the new configuration and drops every cached verdict. Throws, and changes nothing, where a hash cannot be read. */
  reload(config: AccessOptions): void;
  close(): Promise<void>;
}

interface AccessNeeds {
  readonly config: AccessOptions;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly fetchDocument: FetchDocument;
  /** True where the gateway is reached over TLS. */
  readonly secureCookies: boolean;
  readonly watcher?: AccessWatcher;
  /** Tests count hashes with this. */
  readonly matches?: typeof matchesPassword;
}

/** Loads the signing keys, making the first where there is none. Rejects with 503 where the store is away. */
export async function createAccess({
  config,
  database,
  clock,
  log,
  fetchDocument,
  secureCookies,
  watcher = noAccessWatcher,
  matches,
}: AccessNeeds): Promise<Access> {
  let current = createAccessRules({ config, fetchDocument, clock, log });
  const rules = (): typeof current => current;

  const keys = await createSigningKeys({ store: createSigningKeyStore(database), clock });
  const revokedTokens = createRevokedTokenStore(database);
  const revocations = createRevocations({ store: revokedTokens });
  const throttle = createLoginThrottle({ store: createLoginThrottleStore(database), clock });
  // Two hashes at once: more would take the cores from the calls.
  const verifier = createPasswordVerifier({ concurrency: 2, queue: 32, ...(matches === undefined ? {} : { matches }) });
  const check = createCredentialCheck({ throttle, verifier, log, watcher });
  const tokens = createGatewayTokens({ keys, clock });
  const bearer = createTokenAuthenticator({ rules, tokens, revocations, clock });
  const basic = createBasicAuthenticator({ rules, check, clock });

  const upkeep = async (): Promise<void> => {
    await keys.maintain(current.tokenLifetime);
    await revokedTokens.purge(clock.now() - revocationsKeptFor);
    await throttle.purge();
  };
  const maintenance = every(maintenanceInterval, upkeep, () =>
    log.warn('the upkeep of tokens and throttles failed; it is tried again'),
  );

  return {
    ...createSessions({ rules, check, tokens, revocations, clock, ended: (jti) => bearer.end(jti), secureCookies }),
    authenticate: createAuthenticate({ basic, tokens: bearer, cacheKey: createCacheKey(), watcher }),
    principalNamed: (username) => current.accounts.named(username)?.principal,
    reload(next) {
      current = createAccessRules({ config: next, fetchDocument, clock, log, previous: current });
      bearer.clear();
      basic.clear();
    },
    close: () => maintenance.stop(),
  };
}
