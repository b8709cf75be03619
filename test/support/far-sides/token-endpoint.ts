import type { Owner } from '../owner.ts';
import { type FarRequest, farSide, jsonReply } from './far-side.ts';

/** Answers a request for a token; `fresh` is an ordinary reply with a token that was never issued before. */
type TokenHandler = (fresh: (more?: Readonly<Record<string, unknown>>) => Buffer) => Buffer | undefined | Promise<Buffer>;

/** An OAuth 2.0 token endpoint on loopback for many clients, each told apart by its path. */
export interface TokenEndpoint {
  readonly authority: string;
  /** `auth` of an adapter whose tokens are asked for at a path of their own. */
  authOf(client: string): Readonly<Record<string, unknown>>;
  /** Every request of the client so far. */
  requestsOf(client: string): readonly FarRequest[];
  /** From now on the client's requests are answered so. Until told otherwise they get fresh tokens, good for an hour. */
  answer(client: string, handler: TokenHandler): void;
}

/** What tokens of this endpoint begin with: `client.1`, `client.2` and so on. */
export async function tokenEndpoint(owner: Owner, clientSecret: string): Promise<TokenEndpoint> {
  const handlers = new Map<string, TokenHandler>();
  const counts = new Map<string, number>();
  const far = await farSide(owner, (request) => {
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
