import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Owner } from '../owner.ts';
import { type IdentityProvider, identityProvider, type SigningOptions } from './identity-provider.ts';

/** The client id of the console at the provider. */
export const consoleClientId = 'gateway-console';

type Claims = Readonly<Record<string, unknown>>;

/** An OpenID provider on loopback where people log in: with a page, codes that work once, and PKCE. */
export interface LoginProvider extends IdentityProvider {
  /** The claims of the person who logs in, over those of any ID token; undefined removes one. */
  person: Claims;
  signing: SigningOptions;
  /** Replaces the reply of the token endpoint. */
  tokenReply: ((response: ServerResponse, idToken: string) => void) | undefined;
  /** The forms that the token endpoint got, in order. */
  readonly exchanges: readonly URLSearchParams[];
  /** The `Authorization` headers of these requests. */
  readonly authorizations: readonly (string | undefined)[];
  /** The person logs in at the address to which the gateway led: the address to which the provider sends the browser back. */
  logIn(authorization: string): Promise<URL>;
}

interface Grant {
  readonly asked: URLSearchParams;
  readonly person: Claims;
}

interface LoginProviderOptions {
  /** The provider names itself in its replies (RFC 9207). */
  readonly namesItself?: boolean;
  readonly discovery?: Claims;
  /** The console is a confidential client with this secret. */
  readonly secret?: string;
}

export async function loginProvider(
  owner: Owner,
  { namesItself = false, discovery, secret }: LoginProviderOptions = {},
): Promise<LoginProvider> {
  const grants = new Map<string, Grant>();
  const exchanges: URLSearchParams[] = [];
  const authorizations: (string | undefined)[] = [];
  const state: Pick<LoginProvider, 'person' | 'signing' | 'tokenReply'> = { person: {}, signing: {}, tokenReply: undefined };
  const authorize = (asked: URLSearchParams): URL => {
    const [type, client, method] = ['response_type', 'client_id', 'code_challenge_method'].map((name) => asked.get(name));
    if (type !== 'code' || client !== consoleClientId || method !== 'S256') throw new Error(`no such login: ${asked.toString()}`);
    const code = randomBytes(16).toString('base64url');
    grants.set(code, { asked, person: state.person });
    const back = new URL(asked.get('redirect_uri') ?? '');
    back.searchParams.set('code', code);
    back.searchParams.set('state', asked.get('state') ?? '');
    if (namesItself) back.searchParams.set('iss', provider.issuer);
    return back;
  };
  const exchange = async (form: URLSearchParams, request: IncomingMessage, response: ServerResponse): Promise<void> => {
    exchanges.push(form);
    authorizations.push(request.headers.authorization);
    const grant = grants.get(form.get('code') ?? '');
    grants.delete(form.get('code') ?? '');
    if (!isClient(form, request, secret)) {
      // RFC 6749, section 5.2: 401 to a client in the header, 400 to one in the form.
      answerJson(response, request.headers.authorization === undefined ? 400 : 401, { error: 'invalid_client' });
      return;
    }
    if (grant === undefined || !isEarned(grant, form)) {
      answerJson(response, 400, { error: 'invalid_grant', error_description: '<b>no</b>' });
      return;
    }
    const nonce = grant.asked.get('nonce');
    const idToken = await provider.token({ aud: consoleClientId, nonce, ...grant.person }, state.signing);
    if (state.tokenReply === undefined)
      answerJson(response, 200, { access_token: 'unused', token_type: 'Bearer', id_token: idToken });
    else state.tokenReply(response, idToken);
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? '', provider.issuer);
    if (pathname === '/token') await exchange(new URLSearchParams(await text(request)), request, response);
    else if (request.method === 'POST') response.writeHead(303, { Location: authorize(searchParams).href }).end();
    else response.writeHead(200, { 'Content-Type': 'text/html' }).end('<form method="post"><button>Log in here</button></form>');
  };
  const provider = await identityProvider(owner, {
    discovery: {
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: namesItself,
      ...discovery,
    },
    answer: (request, response) => void answer(request, response),
  });
  return Object.assign(state, provider, {
    exchanges,
    authorizations,
    logIn: (authorization: string) => Promise.resolve(authorize(new URL(authorization).searchParams)),
  });
}

/** The client, the redirect URI and the code verifier are those of the login. */
function isEarned({ asked }: Grant, form: URLSearchParams): boolean {
  const challenge = createHash('sha256')
    .update(form.get('code_verifier') ?? '')
    .digest('base64url');
  return (
    form.get('grant_type') === 'authorization_code' &&
    form.get('redirect_uri') === asked.get('redirect_uri') &&
    challenge === asked.get('code_challenge')
  );
}

/** A client of the token endpoint that is who it says (RFC 6749, section 2.3.1): id and secret are form-encoded in HTTP Basic. */
function isClient(form: URLSearchParams, { headers: { authorization } }: IncomingMessage, secret: string | undefined): boolean {
  if (authorization === undefined)
    return form.get('client_id') === consoleClientId && form.get('client_secret') === (secret ?? null);
  const [id, given] = Buffer.from(authorization.replace(/^Basic /u, ''), 'base64')
    .toString()
    .split(':')
    .map(formDecoded);
  return secret !== undefined && id === consoleClientId && given === secret && !form.has('client_secret');
}

function formDecoded(text: string): string | null {
  return new URLSearchParams(`x=${text}`).get('x');
}

function answerJson(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
}
