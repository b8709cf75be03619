import type { Route } from './route.ts';

/** The methods that a path knows, `HEAD` beside each GET; empty where no route has the path. */
export function allowedMethods(routes: readonly Route[], url: string): readonly string[] {
  const path = pathOf(url);
  const methods = routes.filter((route) => pathPattern(route.url).test(path)).map((route) => route.method);
  const withHead = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return [...new Set(withHead)].sort();
}

/** The path of a target as the router reads it: without the host of an absolute form, percent-encoded letters decoded. */
function pathOf(url: string): string {
  const [path = ''] = url.replace(/^https?:\/\/[^/?]*/iu, '').split('?', 1);
  return decodeURI(path);
}

function pathPattern(url: string): RegExp {
  const pattern = url
    .split('/')
    .map((segment) => (segment.startsWith(':') ? '[^/]+' : segment.replaceAll('.', '\\.')))
    .join('/');
  return new RegExp(`^${pattern}$`, 'u');
}
