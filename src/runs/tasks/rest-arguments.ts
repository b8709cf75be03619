import { invalidRequest } from '#json/problem-list.ts';
import { judgeRestCall } from '#relay/rest-call-request.ts';
import { shownHeaders } from '#relay/shown-headers.ts';
import { argumentText, type CallArguments } from './arguments.ts';
import { type CallOutput, type PreparedCall, verbs } from './prepared-call.ts';

/** What a call that goes the way of restCall is made of. */
export interface RestTarget {
  readonly uri: string;
  readonly verb: (typeof verbs)[number];
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  /** Of Bearer. */
  readonly token?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text. */
  readonly body?: Buffer | undefined;
  readonly output: CallOutput;
  readonly follows: boolean;
  readonly accepts: (status: number) => boolean;
}

/** `call: restCall`. Throws `invalid-request` with every problem of its arguments. */
export function restArguments(given: CallArguments): PreparedCall {
  const uri = given.requiredText('uri');
  const verb = given.word('verb', verbs);
  if (given.value('verb') === undefined) given.problems.add('/verb', 'is missing');
  const user = given.text('user');
  const password = given.text('password');
  const headers = headersIn(given);
  const whole = given.flag('responseHeaders') === true ? 'response' : 'content';
  const output = given.word('output', ['content', 'response']) ?? whole;
  given.check();
  return preparedRestCall({
    uri,
    verb: verb ?? 'GET',
    user,
    password,
    headers,
    output,
    body: given.span('body'),
    follows: true,
    accepts: (status) => output === 'response' || status < 400,
  });
}

/** The header fields that the arguments name. A number or a flag is sent as its text; null is none. */
export function headersIn(given: CallArguments): Readonly<Record<string, string>> {
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
  const { uri, verb, user, password, token, headers, body, output, follows, accepts } = target;
  const credentials = {
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
    ...(token !== undefined && { token }),
  };
  const { problems, request } = judgeRestCall({
    ...credentials,
    uri,
    verb,
    headers,
    responseHeaders: false,
    ...(body !== undefined && { body: body[0] === 0x22 ? '' : {} }),
  });
  if (request === undefined) throw invalidRequest(problems);
  const shown = { ...headers, ...(Object.keys(credentials).length > 0 && { Authorization: '' }) };
  return {
    call: {
      operation: 'restCall',
      request: { ...request, body },
      follows,
    },
    changes: verb !== 'GET',
    output,
    request: { method: verb, uri, headers: shownHeaders(shown) },
    accepts,
  };
}
