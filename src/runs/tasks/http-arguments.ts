import { argumentText, type CallArguments } from './arguments.ts';
import { type PreparedCall, verbs } from './prepared-call.ts';
import { headersIn, preparedRestCall, type RestTarget } from './rest-arguments.ts';

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
    ...authenticated(authentication, headers),
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

type HttpAuthentication = { readonly user: string; readonly password: string } | { readonly token: string };

export interface HttpEndpoint {
  readonly uri: string;
  readonly authentication: HttpAuthentication | undefined;
}

/** An address, or `{ uri, authentication? }`. */
export function endpointIn(given: CallArguments, name: string): HttpEndpoint {
  if (typeof given.value(name) !== 'object' || given.value(name) === null)
    return { uri: given.requiredText(name), authentication: undefined };
  return endpointOf(given.object(name));
}

/** `{ uri, authentication? }`. */
export function endpointOf(given: CallArguments): HttpEndpoint {
  return { uri: given.requiredText('uri'), authentication: authenticationIn(given) };
}

/** `authentication`: `{ basic: { username, password } }` or `{ bearer: { token } }`. */
export function authenticationIn(given: CallArguments): HttpAuthentication | undefined {
  if (given.value('authentication') === undefined) return undefined;
  const policy = given.object('authentication');
  if (policy.value('bearer') !== undefined) return { token: policy.object('bearer').requiredText('token') };
  const basic = policy.object('basic');
  return { user: basic.requiredText('username'), password: basic.requiredText('password') };
}

/** The credentials of a call, with its headers. */
export function authenticated(
  authentication: HttpAuthentication | undefined,
  headers: Readonly<Record<string, string>>,
): Pick<RestTarget, 'headers' | 'user' | 'password' | 'token'> {
  return { headers, ...authentication };
}

type Pairs = readonly (readonly [name: string, value: string])[];

/** Texts, numbers and flags by name. A list gives its name for each item; null gives none. */
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

/** The address with further query parameters, before its fragment. */
function withQuery(uri: string, query: Pairs): string {
  if (query.length === 0) return uri;
  const [address = '', ...fragment] = uri.split('#');
  const pairs = query.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join('&');
  const joint = address.includes('?') ? (/[?&]$/u.test(address) ? '' : '&') : '?';
  return [`${address}${joint}${pairs}`, ...fragment].join('#');
}

function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
