import { invalidRequest } from '#json/forms/problem-list.ts';
import { shownHeaders } from '#relay/caller-headers.ts';
import { judgeRestCall } from '#relay/rest-call-request.ts';
import { argumentText, type CallArguments, type PreparedCall, verbs } from './arguments.ts';

interface RestTarget extends Pick<PreparedCall, 'output' | 'accepts'> {
  readonly uri: string;
  readonly verb: (typeof verbs)[number];
  /** Of Basic; or of Bearer. */
  readonly authentication?: { readonly user?: string; readonly password?: string } | { readonly token: string } | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text. */
  readonly body?: Buffer | undefined;
  readonly follows: boolean;
}

/** `call: restCall`. Throws `invalid-request` with every problem of its arguments. */
export function restArguments(given: CallArguments): PreparedCall {
  const uri = given.requiredText('uri');
  const verb = given.requiredWord('verb', verbs);
  const user = given.text('user');
  const password = given.text('password');
  const headers = headersIn(given);
  const whole = given.flag('responseHeaders') === true ? 'response' : 'content';
  const output = given.word('output', ['content', 'response']) ?? whole;
  given.check();
  return preparedRestCall({
    uri,
    verb,
    authentication: { ...(user !== undefined && { user }), ...(password !== undefined && { password }) },
    headers,
    output,
    body: given.span('body'),
    follows: true,
    accepts: (status) => output === 'response' || status < 400,
  });
}

/** A number or a flag is sent as its text; null is no field. */
function headersIn(given: CallArguments): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const [name, node] of given.members('headers')) {
    if (node.kind === 'null') continue;
    const value = argumentText(node);
    if (value === undefined) given.problems.add('/headers', `has no text for ${JSON.stringify(name)}`);
    else headers[name] = value;
  }
  return headers;
}

/** Throws `invalid-request` with every problem that a schema cannot express. */
export function preparedRestCall(target: RestTarget): PreparedCall {
  const { uri, verb, authentication = {}, headers, body, output, follows, accepts } = target;
  const { problems, request } = judgeRestCall({
    ...authentication,
    uri,
    verb,
    headers,
    responseHeaders: false,
    ...(body !== undefined && { body: body[0] === 0x22 ? '' : {} }),
  });
  if (request === undefined) throw invalidRequest(problems);
  const shown = { ...headers, ...(Object.keys(authentication).length > 0 && { Authorization: '' }) };
  return {
    call: { operation: 'restCall', request: { ...request, body }, follows },
    changes: verb !== 'GET',
    output,
    request: { method: verb, uri, headers: shownHeaders(shown) },
    accepts,
  };
}

/** `call: http`. Throws `invalid-request` with every problem of its arguments. */
export function httpArguments(given: CallArguments): PreparedCall {
  const written = given.requiredText('method').toUpperCase();
  const verb = verbs.find((known) => known === written);
  if (verb === undefined) given.problems.add('/method', `is not one of ${verbs.join(', ')}`);
  const { uri, authentication } = endpointIn(given, 'endpoint');
  const headers = headersIn(given);
  const query = queryIn(given);
  const reply = replyIn(given);
  given.check();
  return preparedRestCall({
    authentication,
    headers,
    uri: withQuery(uri, query),
    verb: verb ?? 'GET',
    body: given.span('body'),
    ...reply,
  });
}

/** `output` and `redirect` of the DSL: without `redirect` only 2xx is no error, and no redirect is followed. */
export function replyIn(given: CallArguments): Pick<RestTarget, 'output' | 'follows' | 'accepts'> {
  const output = given.word('output', ['raw', 'content', 'response']) ?? 'content';
  const follows = given.flag('redirect') ?? false;
  return { output, follows, accepts: (status) => status >= 200 && status < (follows ? 400 : 300) };
}

export type HttpEndpoint = Pick<RestTarget, 'uri' | 'authentication'>;

/** An address, or `{ uri, authentication? }`. */
export function endpointIn(given: CallArguments, name: string): HttpEndpoint {
  const isObject = typeof given.value(name) === 'object' && given.value(name) !== null;
  return isObject ? endpointOf(given.object(name)) : { uri: given.requiredText(name) };
}

/** `{ uri, authentication? }`. */
export function endpointOf(given: CallArguments): HttpEndpoint {
  return { uri: given.requiredText('uri'), authentication: authenticationIn(given) };
}

/** `authentication`: `{ basic: { username, password } }` or `{ bearer: { token } }`. */
export function authenticationIn(given: CallArguments): RestTarget['authentication'] {
  if (given.value('authentication') === undefined) return undefined;
  const policy = given.object('authentication');
  if (policy.value('bearer') !== undefined) return { token: policy.object('bearer').requiredText('token') };
  const basic = policy.object('basic');
  return { user: basic.requiredText('username'), password: basic.requiredText('password') };
}

type Pairs = readonly (readonly [name: string, value: string])[];

/** A list gives its name for each item; null gives none. */
function queryIn(given: CallArguments): Pairs {
  return given.members('query').flatMap(([name, node]) => {
    const items = node.kind === 'array' ? node.items : [node];
    return items.flatMap((item): Pairs => {
      const value = argumentText(item);
      if (value === undefined && item.kind !== 'null')
        given.problems.add('/query', `has no text, number or flag for ${JSON.stringify(name)}`);
      return value === undefined ? [] : [[name, value]];
    });
  });
}

function withQuery(uri: string, query: Pairs): string {
  if (query.length === 0) return uri;
  const [address = '', ...fragment] = uri.split('#');
  const pairs = query.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&');
  const joint = address.includes('?') ? (/[?&]$/u.test(address) ? '' : '&') : '?';
  return [`${address}${joint}${pairs}`, ...fragment].join('#');
}

function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
