import { Type } from '#base/json-schema.ts';
import type { RouteDocs } from '#http/route.ts';
import { notStoredDocs } from './session-docs.ts';

type Prose = Omit<RouteDocs, 'tag' | 'operationId' | 'errors' | 'success'>;

const leadingDocs = { ...notStoredDocs, 'Referrer-Policy': '`no-referrer`.' };
const failed = 'Where the login failed: the login page of the console, with the reason in `failure`.';

/** What the documentation says about the logins by an issuer. */
export const issuerLoginDocs = {
  issuers: {
    summary: 'List the issuers by which people can log in',
    description:
      'The OpenID Connect issuers of the configuration that have a `consoleClientId`. The login page of the console has a button for each. The list is empty where the gateway serves no console.',
    example: { reply: { list: ['https://login.example.net/realms/network'] } },
  },
  begin: {
    summary: 'Log in to the console by an issuer',
    description:
      'For browsers: it leads to the issuer, with PKCE (RFC 7636), `state` and `nonce`. They are bound to the browser by a cookie, which lasts for 10 minutes. Where one issuer alone takes logins, `issuer` may be left out.',
    queryParameters: [
      { name: 'issuer', description: 'One of `GET /login/issuers`.', schema: Type.String() },
      {
        name: 'to',
        description: 'The page of the console to open after the login, without `/console`. Any other address counts as none.',
        schema: Type.String(),
      },
    ],
    success: {
      status: 302,
      description: 'The browser goes on to the issuer.',
      headers: {
        Location: `The authorization endpoint of the issuer. ${failed}`,
        'Set-Cookie':
          'Binds the login to the browser: HttpOnly, SameSite=Lax; Secure with the prefix `__Host-` if callers use TLS.',
        ...leadingDocs,
      },
    },
    example: { query: { issuer: 'https://login.example.net/realms/network', to: '/runs' } },
  },
  end: {
    summary: 'End a login by an issuer',
    description:
      'The redirect URI of the console at its issuers: they send the browser here. The gateway exchanges the code once, checks the ID token, and sets the session cookie. The session has the roles and groups of the ID token, and lasts for `access.tokenLifetime`.',
    queryParameters: [
      { name: 'state', description: 'What the gateway gave to the issuer.', schema: Type.String() },
      { name: 'code', description: 'The authorization code.', schema: Type.String() },
      { name: 'iss', description: 'The issuer (RFC 9207).', schema: Type.String() },
      { name: 'error', description: 'Why the issuer refused the login.', schema: Type.String() },
    ],
    success: {
      status: 302,
      description: 'The browser goes on to the console.',
      headers: {
        Location: `The page of the console that was asked for. Where the issuer left the groups out of the ID token: the login page, with \`notice=groups-left-out\`. ${failed}`,
        'Set-Cookie': 'The session cookie, as that of `POST /login`.',
        ...leadingDocs,
      },
    },
    example: { query: { state: 'SEALED', code: 'CODE' } },
  },
} as const satisfies Record<string, Prose & Partial<Pick<RouteDocs, 'success'>>>;
