import type { Access } from '#access/access.ts';
import { LoginFailed } from '#access/login-failure.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { Type } from '#base/json-schema.ts';
import { json, type Route, type RouteReply, type RouteRequest } from '#http/route.ts';
import { namedObject } from '#json/closed-object.ts';
import { consolePlace } from './console-place.ts';
import { issuerLoginDocs } from './issuer-login-docs.ts';
import { monitoring, sessionChange } from './route-traits.ts';
import { notStored } from './session-routes.ts';

interface IssuerLoginOptions {
  readonly access: Pick<Access, 'issuerLogins'>;
  /** In front of every path: an absolute URL, or empty. */
  readonly base: string;
  /** The logins lead to the console. */
  readonly hasConsole: boolean;
}

/** Logins of people to the console by an OIDC issuer. */
export function issuerLoginRoutes(options: IssuerLoginOptions): readonly Route[] {
  return [issuersRoute(options), startRoute(options), callbackRoute(options)];
}

function issuersRoute({ access, hasConsole }: IssuerLoginOptions): Route {
  return {
    method: 'GET',
    url: '/login/issuers',
    handle: () => json(200, { list: hasConsole ? access.issuerLogins.issuers() : [] }, notStored),
    ...monitoring,
    docs: {
      tag: 'access',
      operationId: 'listLoginIssuers',
      ...issuerLoginDocs.issuers,
      success: {
        status: 200,
        description: 'The issuers, in the order of the configuration.',
        schema: namedObject('LoginIssuers', { list: Type.Array(Type.String({ format: 'uri' })) }),
      },
      errors: [],
    },
  };
}

function startRoute(options: IssuerLoginOptions): Route {
  const { access } = options;
  return {
    method: 'GET',
    url: '/login/oidc',
    query: (name) => name === 'issuer' || name === 'to',
    handle: (request) =>
      led(request, options, async () => {
        const { query, headers } = request;
        const { location, cookie } = await access.issuerLogins.begin({
          issuer: query.get('issuer') ?? undefined,
          to: consolePlace(query.get('to') ?? ''),
          redirectUri: redirectUri(request, options),
          cookie: headers.cookie,
        });
        return { Location: location, 'Set-Cookie': cookie };
      }),
    ...sessionChange,
    recorded: false,
    docs: { tag: 'access', operationId: 'beginIssuerLogin', ...issuerLoginDocs.begin, errors: ['not-found'] },
  };
}

function callbackRoute(options: IssuerLoginOptions): Route {
  const { access, base } = options;
  return {
    method: 'GET',
    url: '/login/oidc/callback',
    // An issuer may send further parameters, which a client has to ignore (RFC 6749 4.1.2).
    query: () => true,
    handle: (request) =>
      led(request, options, async () => {
        const { query, headers, sourceAddress, context } = request;
        const { to, cookie, areGroupsLeftOut } = await access.issuerLogins.finish({
          reply: query,
          redirectUri: redirectUri(request, options),
          cookie: headers.cookie,
          sourceAddress,
          requestId: context.record.requestId,
          tried: (principal) => context.record.note({ principal }),
        });
        // The browser brought `to` with it: it is read again.
        const place = consolePlace(to);
        const notice = new URLSearchParams({ notice: 'groups-left-out', ...(place === '' ? {} : { to: place }) });
        const page = areGroupsLeftOut ? `/login?${notice.toString()}` : place;
        return { Location: `${base}/console${page}`, 'Set-Cookie': cookie };
      }),
    ...sessionChange,
    docs: { tag: 'access', operationId: 'endIssuerLogin', ...issuerLoginDocs.end, errors: ['not-found'] },
  };
}

/** Leads the browser on. Where the login failed that is the login page of the console, which has words for the reason. */
async function led(
  { context }: RouteRequest,
  { base, hasConsole }: IssuerLoginOptions,
  step: () => Promise<Readonly<Record<string, string>>>,
): Promise<RouteReply> {
  if (!hasConsole) throw new GatewayError('not-found', 'This gateway serves no console, so there is no login to it.');
  try {
    return redirect(await step());
  } catch (error) {
    if (!(error instanceof LoginFailed)) throw error;
    // The reply is no error, but the login failed: the audit log and the log have to say so.
    context.record.failure = error;
    const to = consolePlace(error.to);
    const query = new URLSearchParams({ failure: error.reason, ...(to === '' ? {} : { to }) });
    return redirect({ Location: `${base}/console/login?${query.toString()}` });
  }
}

/** The address of the callback has a code in it, so no page may learn it from the browser. */
function redirect(headers: Readonly<Record<string, string>>): RouteReply {
  return { kind: 'plain', status: 302, headers: { ...notStored, 'Referrer-Policy': 'no-referrer', ...headers }, body: '' };
}

function redirectUri({ ownOrigin }: RouteRequest, { base }: IssuerLoginOptions): string | undefined {
  const address = base === '' ? ownOrigin() : base;
  return address && `${address}/login/oidc/callback`;
}
