import type { Access } from '#access/access.ts';
import { LoginFailed } from '#access/issuers/code-flow.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { Type } from '#base/json-schema.ts';
import { textParameter } from '#base/text/query-parameters.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import { type ApiRoute, json, type RouteReply, type RouteRequest, route } from '../../route.ts';
import { monitoring, sessionChange } from '../route-traits.ts';
import { notStored, notStoredDocs } from './session-routes.ts';

/** Characters of a page's address that survive a login. */
const maxPlaceLength = 1_000;

/**
 * The address of a page of the console as a caller gave it, without `/console` in front: a path with a query. It is empty for anything that
 * would lead elsewhere, so that a login cannot send people to another site.
 */
export function consolePlace(given: string): string {
  if (given.length > maxPlaceLength || !/^\/[\x21-\x7e]*$/u.test(given) || given.includes('\\')) return '';
  const root = 'http://gateway.invalid';
  const address = `${root}/console${given}`;
  if (!URL.canParse(address)) return '';
  const { origin, pathname, search } = new URL(address);
  return origin === root && pathname.startsWith('/console/') ? `${pathname.slice('/console'.length)}${search}` : '';
}

interface IssuerLoginOptions {
  readonly access: Pick<Access, 'issuerLogins'>;
  /** In front of every path: an absolute URL, or empty. */
  readonly base: string;
  /** The logins lead to the console. */
  readonly hasConsole: boolean;
}

/** Logins of people to the console by an OIDC issuer. */
export function issuerLoginRoutes(options: IssuerLoginOptions): readonly ApiRoute[] {
  const { access, base, hasConsole } = options;
  return [
    listIssuers.serve(() => json(200, { list: hasConsole ? access.issuerLogins.issuers() : [] }, notStored)),
    beginLogin.serve((request) =>
      leadOn(request, options, async () => {
        const { query, headers } = request;
        const { location, cookie } = await access.issuerLogins.begin({
          issuer: query.issuer,
          to: consolePlace(query.to ?? ''),
          redirectUri: redirectUri(request, options),
          cookie: headers.cookie,
        });
        return { Location: location, 'Set-Cookie': cookie };
      }),
    ),
    endLogin.serve((request) =>
      leadOn(request, options, async () => {
        const { query, headers, sourceAddress, record } = request;
        const { to, cookie, areGroupsLeftOut } = await access.issuerLogins.finish({
          reply: query,
          redirectUri: redirectUri(request, options),
          cookie: headers.cookie,
          sourceAddress,
          requestId: record.requestId,
          tried: (principal) => record.note({ principal }),
        });
        // The browser brought `to` with it: it is read again.
        const place = consolePlace(to);
        const notice = new URLSearchParams({ notice: 'groups-left-out', ...(place === '' ? {} : { to: place }) });
        const page = areGroupsLeftOut ? `/login?${notice.toString()}` : place;
        return { Location: `${base}/console${page}`, 'Set-Cookie': cookie };
      }),
    ),
  ];
}

/** Leads the browser on. Where the login failed that is the login page of the console, which has words for the reason. */
async function leadOn(
  { record }: RouteRequest,
  { base, hasConsole }: IssuerLoginOptions,
  step: () => Promise<Readonly<Record<string, string>>>,
): Promise<RouteReply<never>> {
  if (!hasConsole) throw new GatewayError('not-found', 'This gateway serves no console, so there is no login to it.');
  try {
    return redirect(await step());
  } catch (error) {
    if (!(error instanceof LoginFailed)) throw error;
    // The reply is no error, but the login failed: the audit log and the log have to say so.
    record.failure = error;
    const to = consolePlace(error.to);
    const query = new URLSearchParams({ failure: error.reason, ...(to === '' ? {} : { to }) });
    return redirect({ Location: `${base}/console/login?${query.toString()}` });
  }
}

/** The address of the callback has a code in it, so no page may learn it from the browser. */
function redirect(headers: Readonly<Record<string, string>>): RouteReply<never> {
  return { kind: 'plain', status: 302, headers: { ...notStored, 'Referrer-Policy': 'no-referrer', ...headers }, body: '' };
}

function redirectUri({ ownOrigin }: RouteRequest, { base }: IssuerLoginOptions): string | undefined {
  const address = base === '' ? ownOrigin() : base;
  return address && `${address}/login/oidc/callback`;
}

const listIssuers = route('GET /login/issuers', {
  ...monitoring,
  tag: 'access',
  operationId: 'listLoginIssuers',
  summary: 'List the issuers by which people can log in',
  description:
    'The OpenID Connect issuers of the configuration that have a `consoleClientId`. The login page of the console has a button for each. The list is empty where the gateway serves no console.',
  reply: {
    description: 'The issuers, in the order of the configuration.',
    schema: namedObject('LoginIssuers', { list: Type.Array(Type.String({ format: 'uri' })) }),
  },
  example: { reply: { list: ['https://login.example.net/realms/network'] } },
});

const leadingDocs = { ...notStoredDocs, 'Referrer-Policy': '`no-referrer`.' };
const failed = 'Where the login failed: the login page of the console, with the reason in `failure`.';

const beginLogin = route('GET /login/oidc', {
  ...sessionChange,
  recorded: false,
  tag: 'access',
  operationId: 'beginIssuerLogin',
  summary: 'Log in to the console by an issuer',
  description:
    'For browsers: it leads to the issuer, with PKCE (RFC 7636), `state` and `nonce`. They are bound to the browser by a cookie, which lasts for 10 minutes. Where one issuer alone takes logins, `issuer` may be left out.',
  query: {
    issuer: textParameter('One of `GET /login/issuers`.'),
    to: textParameter('The page of the console to open after the login, without `/console`. Any other address counts as none.'),
  },
  reply: {
    status: 302,
    description: 'The browser goes on to the issuer.',
    headers: {
      Location: `The authorization endpoint of the issuer. ${failed}`,
      'Set-Cookie':
        'Binds the login to the browser: HttpOnly, SameSite=Lax; Secure with the prefix `__Host-` if callers use TLS.',
      ...leadingDocs,
    },
  },
  errors: ['not-found'],
  example: { query: { issuer: 'https://login.example.net/realms/network', to: '/runs' } },
});

const endLogin = route('GET /login/oidc/callback', {
  ...sessionChange,
  tag: 'access',
  operationId: 'endIssuerLogin',
  summary: 'End a login by an issuer',
  description:
    'The redirect URI of the console at its issuers: they send the browser here. The gateway exchanges the code once, checks the ID token, and sets the session cookie. The session has the roles and groups of the ID token, and lasts for `access.tokenLifetime`.',
  query: {
    parameters: {
      state: textParameter('What the gateway gave to the issuer.'),
      code: textParameter('The authorization code.'),
      iss: textParameter('The issuer (RFC 9207).'),
      error: textParameter('Why the issuer refused the login.'),
    },
    // An issuer may send further parameters, which a client has to ignore (RFC 6749 4.1.2).
    read: (query: URLSearchParams) => query,
  },
  reply: {
    status: 302,
    description: 'The browser goes on to the console.',
    headers: {
      Location: `The page of the console that was asked for. Where the issuer left the groups out of the ID token: the login page, with \`notice=groups-left-out\`. ${failed}`,
      'Set-Cookie': 'The session cookie, as that of `POST /login`.',
      ...leadingDocs,
    },
  },
  errors: ['not-found'],
  example: { query: { state: 'SEALED', code: 'CODE' } },
});
