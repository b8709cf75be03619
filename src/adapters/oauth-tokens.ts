import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { CallScope, TimeLimitPassed } from '#outbound/call-scope.ts';
import type { Sender } from '#outbound/sender.ts';
import { untilAborted } from '#outbound/until-aborted.ts';
import type { OauthClient } from './authentication.ts';
import type { Credentials } from './credentials.ts';
import { type GrantedToken, requestToken } from './oauth-token-request.ts';

/** A token with its times, in milliseconds of the monotonic clock. */
interface HeldToken {
  readonly headers: readonly string[];
  /** From then on another one is fetched beside the calls that still go with this one. */
  readonly renewAt: number;
  /** From then on no call goes with it: it could expire on the way. */
  readonly uselessAt: number;
}

/** Milliseconds for one request to the token endpoint, whoever waits for it. */
const requestLimit = 10_000;
/** Milliseconds for which a failure is the answer to all: a token endpoint that is down is not hammered. */
const failureMemory = 1_000;
/** Milliseconds between two tokens given up because of a 401: a far side that takes none would use up one after the other. */
const refusalPause = 5_000;

interface TokenNeeds {
  /** The adapter instance's, for errors. */
  readonly name: string;
  readonly client: OauthClient;
  readonly sender: Sender;
  readonly clock: Clock;
  readonly userAgent: string;
}

/**
 * Access tokens of the client credentials grant (RFC 6749 4.4), fetched by the first call, renewed ahead of their expiry and after a 401.
 * One request at a time for all calls; a caller who leaves does not end it for the others. A lifetime that is not told lasts to a 401.
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
    headers(scope) {
      const now = clock.monotonic();
      if (held === undefined || now >= held.uselessAt) return waitForToken(scope);
      // Where it fails, the failure is told to the calls that have to wait.
      if (now >= held.renewAt) requests.once().catch(() => {});
      return held.headers;
    },
    saw(reply, used) {
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
  /** The token of the request that is under way, or of another one. Rejects with `adapter-unavailable`. */
  once(): Promise<HeldToken>;
  /** Breaks off what is under way. */
  close(): Promise<void>;
}

function createTokenRequests(needs: TokenNeeds, keep: (token: HeldToken) => void): TokenRequests {
  const { name, client, sender, clock, userAgent } = needs;
  let current: { readonly token: Promise<HeldToken>; readonly scope: CallScope } | undefined;
  let failure: { readonly error: GatewayError; readonly until: number } | undefined;

  const ask = async (scope: CallScope): Promise<HeldToken> => {
    // Its life is counted from before it was asked for, to be on the safe side.
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

/** Renewed a tenth of its lifetime ahead, 5 to 60 seconds, though not before half of it is over. */
function heldToken({ token, lifetime = Number.POSITIVE_INFINITY }: GrantedToken, askedAt: number): HeldToken {
  const ahead = Math.min(Math.max(lifetime / 10, 5_000), 60_000, lifetime / 2);
  return {
    headers: ['Authorization', `Bearer ${token}`],
    renewAt: askedAt + lifetime - ahead,
    uselessAt: askedAt + lifetime - ahead / 4,
  };
}

function unavailable(name: string, { tokenUrl }: OauthClient, fault: string): GatewayError {
  return new GatewayError(
    'adapter-unavailable',
    `The adapter instance "${name}" has no token to call with: its token endpoint ${new URL(tokenUrl).host} ${fault}. The call was not carried out.`,
    { headers: { 'Retry-After': '1' } },
  );
}
