import { shellQuoted } from '../../src/base/text/shell-quoted.ts';
import type { ApiOperation, Parameter, Reference } from '../../src/http/documentation/openapi-document.ts';

interface CurlTarget {
  readonly method: string;
  readonly path: string;
  readonly operation: ApiOperation;
}

/**
 * A `curl` command for an operation, from its examples. `$GATEWAY` is the gateway's address and `$LOGIN` is `user:password`.
 * Undefined where a required value has no example.
 */
export function curlExample({ method, path, operation }: CurlTarget): string | undefined {
  const target = exampleTarget(path, operation.parameters);
  const body = bodyArguments(operation);
  if (target === undefined || body === undefined) return undefined;
  const login = operation['x-roles'] === 'everyone' ? [] : ['-u "$LOGIN"'];
  const implied = operation.requestBody === undefined ? 'get' : 'post';
  const verb = method === implied ? [] : [`-X ${method.toUpperCase()}`];
  return [['curl', ...verb, ...login, `"$GATEWAY${target}"`].join(' '), ...body].join(' \\\n  ');
}

function exampleTarget(path: string, parameters: readonly (Parameter | Reference)[]): string | undefined {
  let target = path;
  const query = new URLSearchParams();
  for (const parameter of parameters) {
    if (!('in' in parameter)) continue;
    const { name, example } = parameter;
    if (parameter.in === 'query' && example !== undefined) query.set(name, String(example));
    if (parameter.in === 'path') target = target.replace(`{${name}}`, encodeURIComponent(String(example ?? '{}')));
  }
  return target.includes('%7B') ? undefined : `${target}${query.size === 0 ? '' : `?${query.toString()}`}`;
}

function bodyArguments({ requestBody }: ApiOperation): readonly string[] | undefined {
  const [entry] = Object.entries(requestBody?.content ?? {});
  if (entry === undefined) return [];
  const [mediaType, { example }] = entry;
  if (example === undefined) return undefined;
  if (mediaType === 'application/x-www-form-urlencoded') {
    return Object.entries(example as Record<string, unknown>).map(
      ([name, value]) => `--data-urlencode ${shellQuoted(`${name}=${String(value)}`)}`,
    );
  }
  return [
    `-H ${shellQuoted(`Content-Type: ${mediaType}`)}`,
    `-d ${shellQuoted(typeof example === 'string' ? example : JSON.stringify(example))}`,
  ];
}
