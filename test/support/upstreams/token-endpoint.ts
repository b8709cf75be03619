import type { Owner } from '../owner.ts';
import { type FarRequest, jsonReply, upstream } from './upstream.ts';

/** Answers a request for a token; `fresh` makes an ordinary reply with a new token. */
type TokenHandler = (fresh: (more?: Readonly<Record<string, unknown>>) => Buffer) => Buffer | undefined | Promise<Buffer>;

/** An OAuth 2.0 token endpoint on loopback for many clients, each with a path of its own. */
interface TokenEndpoint {
  readonly authority: string;
  /** The `auth` of an adapter that gets its tokens at the path of this client. */
  authOf(client: string): Readonly<Record<string, unknown>>;
  /** Every request of the client so far. */
  requestsOf(client: string): readonly FarRequest[];
  /** Sets the handler of the client's requests from now on. Without one they get new tokens with a lifetime of an hour. */
  answer(client: string, handler: TokenHandler): void;
}

/** Starts a token endpoint; its tokens are `client.1`, `client.2` and so on. */
export async function tokenEndpoint(owner: Owner, clientSecret: string): Promise<TokenEndpoint> {
  const handlers = new Map<string, TokenHandler>();
  const counts = new Map<string, number>();
  const far = await upstream(owner, (request) => {
    const client = request.target.slice(1);
    const fresh = (more: Readonly<Record<string, unknown>> = {}): Buffer => {
      const count = (counts.get(client) ?? 0) + 1;
      counts.set(client, count);
      return jsonReply(JSON.stringify({ access_token: `${client}.${count}`, token_type: 'bearer', expires_in: 3600, ...more }));
    };
    return (handlers.get(client) ?? (() => fresh()))(fresh);
  });
  return {
    authority: far.authority,
    authOf: (client) => ({ type: 'oauth2', tokenUrl: `${far.url}/${client}`, clientId: client, clientSecret }),
    requestsOf: (client) => far.requests.filter(({ target }) => target === `/${client}`),
    answer: (client, handler) => void handlers.set(client, handler),
  };
}
