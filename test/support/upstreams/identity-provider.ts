import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { exportJWK, type JWTPayload, SignJWT } from 'jose';
import { listening } from '../listen.ts';
import type { Owner } from '../owner.ts';

/** An OpenID provider on loopback: serves its discovery document and its keys, and signs any claims for a test. */
export interface IdentityProvider {
  readonly issuer: string;
  /** The requested paths, in order. */
  readonly asked: readonly string[];
  /** A token of this issuer for `audience`, valid for an hour from now; `claims` replace those claims, undefined removes them. */
  token(claims?: Readonly<Record<string, unknown>>, options?: SigningOptions): Promise<string>;
  readonly rsaPublicPem: string;
}

export interface SigningOptions {
  readonly algorithm?: 'RS256' | 'ES256' | 'EdDSA' | 'RS512';
  readonly header?: Readonly<Record<string, unknown>>;
  /** Signs with an unpublished key under the id of a published one. */
  readonly forged?: boolean;
}

export const audience = 'orchestration-gateway';

interface ProviderOptions {
  /** Members of the discovery document, in addition. */
  readonly discovery?: Readonly<Record<string, unknown>>;
  /** Answers what is no document of the issuer. */
  readonly answer?: (request: IncomingMessage, response: ServerResponse) => void;
}

export async function identityProvider(
  owner: Owner,
  { discovery = {}, answer }: ProviderOptions = {},
): Promise<IdentityProvider> {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ed = generateKeyPairSync('ed25519');
  const keys = await Promise.all([
    publicJwk(rsa.publicKey, 'rsa', undefined),
    publicJwk(ec.publicKey, 'ec', 'ES256'),
    publicJwk(ed.publicKey, 'ed', 'EdDSA'),
  ]);
  const asked: string[] = [];
  let issuer = '';
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    const documents: Record<string, unknown> = {
      '/.well-known/openid-configuration': {
        issuer,
        jwks_uri: `${issuer}/keys`,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256', 'ES256', 'EdDSA'],
        ...discovery,
      },
      '/keys': { keys },
    };
    const document = documents[request.url ?? ''];
    if (document === undefined && answer !== undefined) {
      answer(request, response);
      return;
    }
    response.writeHead(document === undefined ? 404 : 200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(document ?? {}));
  });
  issuer = `http://127.0.0.1:${await listening(server)}`;
  owner.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const privateKeys: Record<string, readonly [string, KeyObject]> = {
    RS256: ['rsa', rsa.privateKey],
    RS512: ['rsa', rsa.privateKey],
    ES256: ['ec', ec.privateKey],
    EdDSA: ['ed', ed.privateKey],
  };
  return {
    issuer,
    asked,
    rsaPublicPem: rsa.publicKey.export({ type: 'spki', format: 'pem' }),
    token: async (claims = {}, { algorithm = 'RS256', header = {}, forged = false } = {}) => {
      const [kid, key] = privateKeys[algorithm] ?? ['', rsa.privateKey];
      const now = Math.floor(Date.now() / 1000);
      const payload: Record<string, unknown> = { iss: issuer, aud: audience, sub: 'alice', iat: now, exp: now + 3600, ...claims };
      const signer = new SignJWT(JSON.parse(JSON.stringify(payload)) as JWTPayload).setProtectedHeader({
        alg: algorithm,
        kid,
        ...header,
      });
      return signer.sign(forged ? generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey : key, { crit: { x: true } });
    },
  };
}

async function publicJwk(key: KeyObject, kid: string, algorithm: string | undefined): Promise<object> {
  return { ...(await exportJWK(key)), kid, use: 'sig', ...(algorithm === undefined ? {} : { alg: algorithm }) };
}
