import type { RequestProblem } from '#base/gateway-error.ts';
import { pointerTo } from '#json/json-pointer.ts';
import { readDestination } from '#outbound/policy/destination.ts';
import type { Hop } from '#outbound/policy/redirect.ts';
import { headerProblems } from './caller-headers.ts';
import type { Checked } from './relayed-call.ts';
import { contentTypeProblem } from './request-body.ts';

/** Of POST /tools/restCall, valid by its schema. */
export interface RestCallRequest {
  readonly destination: URL;
  readonly verb: Hop['method'];
  readonly user?: string;
  readonly password?: string;
  /** Of runs: sent as Bearer. */
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The caller's exact bytes. */
  readonly body?: Buffer | undefined;
  readonly responseHeaders: boolean;
}

/** The bytes of a body need no check. */
export type CheckedRestCall = Checked<Omit<RestCallRequest, 'body'>>;

interface JudgedRestCall {
  readonly problems: readonly RequestProblem[];
  /** Absent with a problem, or without `uri`. */
  readonly request?: CheckedRestCall;
}

/** What a schema cannot express; it reports wrong types. */
export function judgeRestCall(request: Readonly<Record<string, unknown>>): JudgedRestCall {
  const { uri, user, password, token, headers } = request;
  const problems: RequestProblem[] = [];
  const read = typeof uri === 'string' ? readDestination(uri) : undefined;
  if (read !== undefined && 'problem' in read) problems.push({ pointer: '/uri', detail: read.problem });
  problems.push(...credentialProblems(user, password), ...tokenProblems(token));
  if (typeof headers === 'object' && headers !== null && !Array.isArray(headers)) {
    problems.push(
      ...headerProblems(headers as Record<string, unknown>),
      ...conflicts(request, headers as Record<string, unknown>),
    );
  }
  if (problems.length > 0 || read === undefined || 'problem' in read) return { problems };
  return { problems, request: { ...request, destination: read.url } as unknown as CheckedRestCall };
}

/** With other members. */
function conflicts(
  request: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, unknown>>,
): readonly RequestProblem[] {
  const problems: RequestProblem[] = [];
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (lower === 'authorization' && ['user', 'password', 'token'].some((name) => request[name] !== undefined)) {
      problems.push({
        pointer: pointerTo('/headers', name),
        detail: 'conflicts with other credentials of the call; give one or the other',
      });
    }
    const detail =
      lower === 'content-type' && request['body'] !== undefined && typeof value === 'string'
        ? contentTypeProblem(value, typeof request['body'] === 'string')
        : undefined;
    if (detail !== undefined) problems.push({ pointer: pointerTo('/headers', name), detail });
  }
  return problems;
}

function tokenProblems(token: unknown): readonly RequestProblem[] {
  if (typeof token !== 'string' || /^[\x21-\x7e]+$/u.test(token)) return [];
  return [{ pointer: '/token', detail: 'has a character that is not visible ASCII' }];
}

function credentialProblems(user: unknown, password: unknown): readonly RequestProblem[] {
  const problems: RequestProblem[] = [];
  if (typeof user === 'string' && user.includes(':'))
    problems.push({ pointer: '/user', detail: 'has a colon, which Basic authentication cannot carry (RFC 7617 2)' });
  for (const [pointer, value] of [
    ['/user', user],
    ['/password', password],
  ] as const) {
    // oxlint-disable-next-line no-control-regex -- control characters are what is looked for (RFC 7617 2)
    if (typeof value === 'string' && /[\x00-\x1f\x7f]/u.test(value))
      problems.push({ pointer, detail: 'has a control character' });
  }
  return problems;
}
