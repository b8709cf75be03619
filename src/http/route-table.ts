import type { IncomingMessage } from 'node:http';
import findMyWay, { type FindResult, type HTTPMethod, type HTTPVersion } from 'find-my-way';
import { GatewayError } from '#base/gateway-error.ts';
import type { Route } from './route.ts';

/** The routes by method and path. */
export interface RouteTable {
  /** Undefined where no route takes the request. */
  find(request: Pick<IncomingMessage, 'method' | 'url'>): FoundRoute | undefined;
  /**
   * The methods of the path of a request target, with `HEAD` for each GET; empty where no route has the path. Throws 400
   * `malformed-request` where the path cannot be decoded.
   */
  methodsOf(target: string): readonly string[];
}

export interface FoundRoute {
  readonly route: Route;
  /** As the audit log names it: method and pattern, such as `POST /tools/restCall`. */
  readonly name: string;
  /** Path parameters, decoded. */
  readonly params: Readonly<Record<string, string>>;
}

type NamedRoute = Pick<FoundRoute, 'name' | 'route'>;

/** Longest path parameter: as many characters as the head of a request may have bytes, so that the router refuses none for its length. */
const maxParameterLength = 16_384;

export function createRouteTable(routes: readonly Route[]): RouteTable {
  const router = findMyWay({ maxParamLength: maxParameterLength, querystringParser: () => ({}), onBadUrl: unused });
  for (const route of routes) {
    for (const method of withHead(route)) router.on(method, route.url, unused, { route, name: `${method} ${route.url}` });
  }
  const methods = [...new Set(routes.flatMap(withHead))].toSorted();
  // A fixed path is no parameter of another route: `check` of `/workflows/check` is no id.
  for (const { url } of routes.filter((route) => !route.url.includes(':')))
    for (const method of methods) if (isOfOther(router.find(method, url), url)) router.on(method, url, unused, noRoute);
  return {
    find({ method, url = '' }) {
      if (!hasPath.test(url)) return undefined;
      const found = router.find(method as HTTPMethod, url);
      if (found === null || found.store === noRoute || isUndecodable(found)) return undefined;
      return { ...(found.store as NamedRoute), params: found.params as Readonly<Record<string, string>> };
    },
    methodsOf(target) {
      if (!hasPath.test(target)) return [];
      return methods.filter((method) => {
        const found = router.find(method, target);
        if (found !== null && isUndecodable(found)) {
          throw new GatewayError('malformed-request', 'The path has a faulty percent-encoding.');
        }
        return found !== null && found.store !== noRoute;
      });
    },
  };
}

/** A path or a whole URL (RFC 9112, 3.2). The router would take any other character for the path `/`. */
const hasPath = /^(?:\/|https?:\/\/)/iu;

/** In the place of a route: a fixed path without this method. */
const noRoute = {};

function isOfOther(found: FindResult<HTTPVersion.V1> | null, url: string): boolean {
  return found !== null && (found.store as NamedRoute).route.url !== url;
}

function withHead({ method }: Route): HTTPMethod[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method];
}

/** The router only finds routes; it never calls their handlers. */
function unused(): void {}

/** True for a path with faulty percent-encoding: the router's result then has no route. */
function isUndecodable({ store }: FindResult<HTTPVersion.V1>): boolean {
  return store === null;
}
