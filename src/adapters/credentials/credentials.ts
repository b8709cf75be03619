import { GatewayError } from '#base/gateway-error.ts';
import type { Secret } from '#base/secret.ts';
import type { CallScope } from '#outbound/call/call-scope.ts';
import { basicCredentials, type UpstreamReply } from '#outbound/call/outbound-call.ts';
import type { CallerIdentity, Carrier } from './caller-identity.ts';

export interface Credentials {
  readonly type: AdapterAuthentication['type'];
  /** There are some for what the gateway itself reads. */
  readonly hasOwn: boolean;
  /**
   * Name and value, or empty; the same array until the credentials change. `identity`: the caller, where the adapter instance sends calls as
   * their callers. Throws or rejects with NoCredentials or CallerLeft.
   */
  headers(scope: CallScope, identity?: CallerIdentity): readonly string[] | Promise<readonly string[]>;
  /** True after a 401 to `used` if `headers` may now give others. A promise while the secret is read again. */
  observe(reply: UpstreamReply, used: readonly string[], identity?: CallerIdentity): boolean | Promise<boolean>;
  /** The configured secret, as it is now. */
  basis(): string;
  /** Reply headers with credentials, in lower case, which callers do not get. */
  readonly withheld: readonly string[];
  close(): Promise<void>;
}

/** Their issuer gives none. Nothing was sent. */
export class NoCredentials extends GatewayError {
  constructor(detail: string) {
    super('adapter-unavailable', detail, { headers: { 'Retry-After': '1' } });
  }
}

export type AdapterAuthentication = OwnAuthentication | CallerAuthentication;

/** The gateway's own. */
export type OwnAuthentication =
  | StaticAuthentication
  | { readonly type: 'token'; readonly token: Secret }
  | ({ readonly type: 'oauth2' } & OauthClient);

/** The gateway signs who makes each call (`auth: caller`). */
export interface CallerAuthentication extends CallerMapping {
  readonly type: 'caller';
  readonly carrier: Carrier;
  /** PEM: RSA or Ed25519. */
  readonly key: Secret;
  readonly audience: string;
  /** For the reads of the gateway itself. */
  readonly service?: OwnAuthentication;
}

/** Which principal is who at the orchestrator, in which groups. */
export interface CallerMapping {
  /** By principal id. */
  readonly users: Readonly<Record<string, string>>;
  /** By issuer: the claim that is the name. */
  readonly userClaims: Readonly<Record<string, string>>;
  /** `group:NAME` or `role:NAME` → a group there. */
  readonly groups: Readonly<Record<string, string>>;
  /** `group:NAME` or `role:NAME`: whose workflows run with all groups of the starter. */
  readonly authors: readonly string[];
  /** In whose name runs call. */
  readonly runs: 'starter' | 'owner';
}

/** RFC 6749, section 4.4. */
export interface OauthClient {
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: Secret;
  readonly scope?: string;
}

export type StaticAuthentication =
  | { readonly type: 'none' }
  | { readonly type: 'basic'; readonly username: string; readonly password: Secret }
  | { readonly type: 'bearer'; readonly token: Secret }
  | { readonly type: 'header'; readonly name: string; readonly value: Secret };

/** Name and value, or empty. Basic is UTF-8 (RFC 7617, section 2.1). */
export function credentialHeaders(authentication: StaticAuthentication): readonly string[] {
  switch (authentication.type) {
    case 'none':
      return [];
    case 'basic':
      return ['Authorization', basicCredentials(authentication.username, authentication.password.reveal())];
    case 'bearer':
      return ['Authorization', `Bearer ${authentication.token.reveal()}`];
    default:
      return [authentication.name, authentication.value.reveal()];
  }
}

interface AuthenticatedSend {
  readonly credentials: Credentials;
  readonly identity?: CallerIdentity | undefined;
  readonly isQuery: boolean;
  readonly scope: CallScope;
  readonly send: (credentials: readonly string[]) => Promise<UpstreamReply>;
}

/** The gateway has no others. */
interface AuthenticatedReply {
  readonly reply: UpstreamReply;
  readonly refused: boolean;
}

/** Repeats a query after a 401 if other credentials may exist. An action keeps its 401: a proxy may have sent it after the action. */
export function sendAuthenticated(options: AuthenticatedSend): Promise<AuthenticatedReply> {
  const held = options.credentials.headers(options.scope, options.identity);
  return held instanceof Promise ? held.then((found) => sendWith(found, options)) : sendWith(held, options);
}

function sendWith(used: readonly string[], options: AuthenticatedSend): Promise<AuthenticatedReply> {
  const { credentials, identity, isQuery, send } = options;
  return send(used).then((reply) => {
    const decide = (hasOthers: boolean): AuthenticatedReply | Promise<AuthenticatedReply> => {
      if (hasOthers && isQuery) return sendAgain(reply, options);
      return { reply: forCallers(reply, credentials), refused: reply.status === 401 && !hasOthers };
    };
    const observed = credentials.observe(reply, used, identity);
    return observed instanceof Promise ? observed.then(decide) : decide(observed);
  });
}

async function sendAgain(
  refused: UpstreamReply,
  { credentials, identity, scope, send }: AuthenticatedSend,
): Promise<AuthenticatedReply> {
  refused.discard();
  const others = await credentials.headers(scope, identity);
  const second = await send(others);
  await credentials.observe(second, others, identity);
  return { reply: forCallers(second, credentials), refused: second.status === 401 };
}

function forCallers(reply: UpstreamReply, { withheld }: Credentials): UpstreamReply {
  if (withheld.length === 0) return reply;
  const headers = Object.fromEntries(Object.entries(reply.headers).filter(([name]) => !withheld.includes(name)));
  return { ...reply, headers };
}
