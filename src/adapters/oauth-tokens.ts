import type { Clock } from '#base/clock.ts';
import { CallScope, TimeLimitPassed } from '#outbound/call-scope.ts';
import type { Sender } from '#outbound/sender.ts';
import { untilAborted } from '#outbound/until-aborted.ts';
import type { OauthClient } from './authentication.ts';
import { type Credentials, NoCredentials } from './credentials.ts';
import { type GrantedToken, requestToken } from './oauth-token-request.ts';

/** A token. Times are in milliseconds of the monotonic clock. */
interface HeldToken {
  readonly headers: readonly string[];
  /** From this time on a new token is fetched, while calls continue to use this one. */
  readonly renewAt: number;
  /** From this time on no call uses this token, because it could expire on the way. */
  readonly uselessAt: number;
}

/** Milliseconds for one request to the token endpoint, for any number of waiting calls. */
const requestLimit = 10_000;
/** Milliseconds for which a failure is the answer to all calls, to protect a token endpoint that is down. */
const failureMemory = 1_000;
/**
 * Milliseconds between two tokens that are discarded because of a 401. Without it, a far side that refuses every token would
 * cause a request for each call.
 */
const refusalPause = 5_000;

interface TokenNeeds {
  /** The name of the adapter instance, for errors. */
  readonly name: string;
  readonly client: OauthClient;
  readonly sender: Sender;
  readonly clock: Clock;
  readonly userAgent: string;
}

/**
 * Access tokens of the client credentials grant (RFC 6749, section 4.4). The first call fetches one; it is renewed before it
 * expires and after a 401. All calls share one request at a time, and a caller that leaves does not abort it. A token without a
 * lifetime is used until a 401.
 */
export function createOauthTokens(options: TokenNeeds): Credentials {
  const { name, client, sender, clock } = options;
  let held: HeldToken | undefined;
  let refusedAt = Number.NEGATIVE_INFINITY;
  const requests = createTokenRequests(options, (token) => {
    held = token;
  });
  const waitForToken = async (scope: CallScope): Promise<readonly string[]> => {
    try {
      return (await untilAborted(scope, requests.once())).headers;
    } catch (reason) {
      if (reason instanceof TimeLimitPassed) throw unavailable(name, client, 'did not answer in the time that the call has');
      throw reason;
    }
  };
  return {
    type: 'oauth2',
    headers(scope) {
      const now = clock.monotonic();
      if (held === undefined || now >= held.uselessAt) return waitForToken(scope);
      // If this fails, only calls that have to wait for a token get the error.
      if (now >= held.renewAt) requests.once().catch(() => {});
      return held.headers;
    },
    observe(reply, used) {
      if (reply.status !== 401) return false;
      if (held?.headers !== used) return true;
      const now = clock.monotonic();
      if (now < refusedAt + refusalPause) return false;
      refusedAt = now;
      held = undefined;
      return true;
    },
    withheld: [],
    async close() {
      await requests.close();
      await sender.close();
    },
  };
}

interface TokenRequests {
  /** The token of the request in progress, or of a new request. Rejects with `adapter-unavailable`. */
  once(): Promise<HeldToken>;
  /** Aborts the request in progress. */
  close(): Promise<void>;
}

function createTokenRequests(needs: TokenNeeds, keep: (token: HeldToken) => void): TokenRequests {
  const { name, client, sender, clock, userAgent } = needs;
  let current: { readonly token: Promise<HeldToken>; readonly scope: CallScope } | undefined;
  let failure: { readonly error: NoCredentials; readonly until: number } | undefined;

  const ask = async (scope: CallScope): Promise<HeldToken> => {
    // The lifetime is counted from before the request, because the endpoint may have issued the token at any time since.
    const askedAt = clock.monotonic();
    const issued = await requestToken({ client, sender, scope, userAgent });
    scope.end();
    current = undefined;
    if ('fault' in issued) {
      const error = unavailable(name, client, issued.fault);
      failure = { error, until: clock.monotonic() + failureMemory };
      throw error;
    }
    failure = undefined;
    const token = heldToken(issued, askedAt);
    keep(token);
    return token;
  };
  return {
    async once() {
      if (current === undefined) {
        if (failure !== undefined && clock.monotonic() < failure.until) throw failure.error;
        const scope = new CallScope({ total: requestLimit, clock });
        current = { token: ask(scope), scope };
      }
      return await current.token;
    },
    async close() {
      current?.scope.abort(new Error('the adapter instance is closed'));
      await current?.token.catch(() => {});
    },
  };
}

/**
 * A token is renewed before it expires: by a tenth of its lifetime, limited to between 5 and 60 seconds. A short-lived token is
 * renewed at half of its lifetime.
 */
function heldToken({ token, lifetime = Number.POSITIVE_INFINITY }: GrantedToken, askedAt: number): HeldToken {
  const ahead = Math.min(Math.max(lifetime / 10, 5_000), 60_000, lifetime / 2);
  return {
    headers: ['Authorization', `Bearer ${token}`],
    renewAt: askedAt + lifetime - ahead,
    uselessAt: askedAt + lifetime - ahead / 4,
  };
}

function unavailable(name: string, { tokenUrl }: OauthClient, fault: string): NoCredentials {
  return new NoCredentials(
    `The adapter instance "${name}" has no token for the call: its token endpoint ${new URL(tokenUrl).host} ${fault}. The call was not executed.`,
  );
}
