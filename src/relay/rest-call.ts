import { GatewayError, type RequestProblem } from '#base/gateway-error.ts';
import { pointerTo } from '#json/json-pointer.ts';
import { basicCredentials } from '#outbound/basic-credentials.ts';
import type { CallScope } from '#outbound/call-scope.ts';
import { acceptedCodings } from '#outbound/content-decoding.ts';
import { readDestination } from '#outbound/destination.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';
import { type Hop, isRedirect, nextHop } from '#outbound/redirect.ts';
import type { Sender } from '#outbound/sender.ts';
import { type CallContext, openScope } from './call-context.ts';
import { findHeader, headerProblems, refuseMetadataHeaders } from './caller-headers.ts';
import { isJson } from './media-type.ts';
import { recorded } from './recorded.ts';
import {
  type Candidate,
  escaped,
  headersAsJson,
  mediaTypeOf,
  type RelayReply,
  type Rendering,
  renderedOrLetGo,
  renderReply,
  textRenderings,
  textStage,
} from './relay-reply.ts';
import { contentTypeProblem, writeRequestBody } from './request-body.ts';
import { escapeStage, jsonStage } from './stage.ts';

/** The request of POST /tools/restCall, fit for its schema; `body` is the caller's exact bytes. */
export interface RestCallRequest {
  readonly uri: string;
  readonly verb: Hop['method'];
  readonly user?: string;
  readonly password?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | undefined;
  readonly responseHeaders: boolean;
}

/** Limits of calls to addresses that callers name; durations in milliseconds, sizes in bytes. */
interface RestCallLimits {
  readonly timeouts: { readonly firstByte: number; readonly idle: number; readonly total: number };
  readonly responseLimit: number;
  readonly redirects: number;
}

/** Problems that a schema cannot say. Members of a wrong type are passed over: the schema names those. */
export function restCallProblems(request: Readonly<Record<string, unknown>>): readonly RequestProblem[] {
  const { uri, user, password, headers } = request;
  const problems: RequestProblem[] = [];
  if (typeof uri === 'string') {
    const read = destinationOf(uri);
    if ('problem' in read) problems.push({ pointer: '/uri', detail: read.problem });
  }
  problems.push(...credentialProblems(user, password));
  if (typeof headers === 'object' && headers !== null && !Array.isArray(headers)) {
    problems.push(
      ...headerProblems(headers as Record<string, unknown>),
      ...conflicts(request, headers as Record<string, unknown>),
    );
  }
  return problems;
}

/** What the headers say against the other members. */
function conflicts(
  request: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, unknown>>,
): readonly RequestProblem[] {
  const problems: RequestProblem[] = [];
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (lower === 'authorization' && (request['user'] !== undefined || request['password'] !== undefined)) {
      problems.push({ pointer: pointerTo('/headers', name), detail: 'stands beside user or password; give one or the other' });
    }
    const detail =
      lower === 'content-type' && request['body'] !== undefined && typeof value === 'string'
        ? contentTypeProblem(value)
        : undefined;
    if (detail !== undefined) problems.push({ pointer: pointerTo('/headers', name), detail });
  }
  return problems;
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

/** Carries a restCall out: the call, the redirects it leads to, the reply. Rejects with a GatewayError or CallerLeft. */
export async function restCall(options: {
  readonly request: RestCallRequest;
  readonly context: CallContext;
  readonly limits: RestCallLimits;
  /** Throws `destination-denied` where the outbound policy refuses the URL as it stands: before the call is counted. */
  readonly refuseDenied: (url: URL) => void;
  readonly sender: Sender;
  readonly userAgent: string;
}): Promise<RelayReply> {
  const { request, context, limits } = options;
  const first = firstHop(request, context, options.userAgent);
  context.note({ verb: first.method, address: first.url.href });
  options.refuseDenied(first.url);
  const scope = openScope(context, limits.timeouts.total);
  try {
    return await recorded({ context, scope, method: first.method }, () =>
      followed({ ...options, first, scope }).then(({ reply, url }) => {
        context.note({ upstreamStatus: reply.status });
        const endedElsewhere = url === first.url ? [] : ['X-Upstream-Uri', url.href];
        return renderedOrLetGo(reply, () =>
          renderReply(reply, restCallRenderings(reply, request.responseHeaders), endedElsewhere),
        );
      }),
    );
  } catch (failure) {
    scope.end();
    throw failure;
  }
}

function firstHop(request: RestCallRequest, context: CallContext, userAgent: string): Hop {
  const url = destination(request.uri);
  const given = request.headers ?? {};
  const headers = Object.entries(given).flat();
  const add = (name: string, value: string): void => {
    if (findHeader(given, name.toLowerCase()) === undefined) headers.push(name, value);
  };
  const contentType = findHeader(given, 'content-type');
  const body = request.body === undefined ? undefined : writeRequestBody(request.body, contentType ?? 'application/json');
  refuseMetadataHeaders(given);
  if (body !== undefined) add('Content-Type', 'application/json');
  add('Accept', '*/*');
  add('Accept-Encoding', acceptedCodings);
  add('User-Agent', userAgent);
  add('traceparent', context.trace.traceparent);
  if (request.user !== undefined || request.password !== undefined) {
    headers.push('Authorization', basicCredentials(request.user ?? '', request.password ?? ''));
  }
  return { url, method: request.verb, headers, body };
}

let lastRead: { readonly uri: string; readonly read: ReturnType<typeof readDestination> } | undefined;

/** A request is judged and made right behind it: its address is read once. Nobody changes the URL. */
function destinationOf(uri: string): ReturnType<typeof readDestination> {
  if (lastRead?.uri !== uri) lastRead = { uri, read: readDestination(uri) };
  return lastRead.read;
}

function destination(uri: string): URL {
  const read = destinationOf(uri);
  if ('url' in read) return read.url;
  throw new GatewayError('invalid-request', 'The uri cannot be called.', { errors: [{ pointer: '/uri', detail: read.problem }] });
}

async function followed(options: {
  readonly context: CallContext;
  readonly first: Hop;
  readonly limits: RestCallLimits;
  readonly sender: Sender;
  readonly scope: CallScope;
}): Promise<{ readonly reply: FarSideReply; readonly url: URL }> {
  const { limits, sender, scope } = options;
  let hop = options.first;
  /** The status of the first redirect. */
  let answered: number | undefined;
  try {
    for (let redirects = 0; ; redirects += 1) {
      const { origin, href } = hop.url;
      const reply = await sender.send(
        {
          origin,
          // Not pathname and search: `search` leaves the ? of an empty query out.
          path: href.slice(origin.length),
          method: hop.method,
          headers: hop.headers,
          body: hop.body,
          stateChanging: hop.method !== 'GET',
          timeouts: limits.timeouts,
          responseLimit: limits.responseLimit,
        },
        scope,
      );
      const { location } = reply.headers;
      if (!isRedirect(reply.status) || location === undefined || limits.redirects === 0) return { reply, url: hop.url };
      reply.discard();
      answered ??= reply.status;
      if (redirects === limits.redirects) {
        throw new GatewayError(
          'too-many-redirects',
          `The far side redirected more than ${limits.redirects} times (outbound.redirects). Call its final address.`,
        );
      }
      hop = nextHop(hop, reply.status, location);
      // Another far side, perhaps: it is named before it is called.
      if (hop.method !== 'GET') await options.context.goesOn(hop.url.href);
    }
  } catch (failure) {
    throw answered === undefined ? failure : behindAnswer(options.first.method, answered, failure);
  }
}

/** A call that was answered with a redirect is not one of which nothing left, whatever becomes of the next hop: its caller is told. */
function behindAnswer(method: Hop['method'], answered: number, failure: unknown): unknown {
  if (method === 'GET' || !(failure instanceof GatewayError)) return failure;
  const { code, status, headers } = failure;
  return new GatewayError(
    code,
    `The ${method} was answered with status ${answered}; where that led to failed. Look at the far side before you send it again. Cause: ${failure.message}`,
    { cause: failure, status, headers },
  );
}

/** `{ "response": <string> }`; with headers the string is itself a JSON text, in which a JSON body stands as it came. */
function restCallRenderings(reply: FarSideReply, withHeaders: boolean): readonly Candidate[] {
  if (!withHeaders) return textRenderings(reply, () => ({ before: '{"response":"', after: '"}' }), escapeStage);
  const before = `{"response":"${escaped(`{"statusCode":${reply.status},"headers":${headersAsJson(reply)},"body":`)}`;
  const asString = textRenderings(
    reply,
    (base64) => ({ before: `${before}\\"`, after: `\\"${base64 ? escaped(',"bodyEncoding":"base64"') : ''}}"}` }),
    escapeStage,
    escapeStage,
  );
  const asJson = (): Rendering | undefined => {
    const type = mediaTypeOf(reply);
    const text = textStage(reply);
    if (type === undefined || text === undefined || !isJson(type)) return undefined;
    return { before, stages: [text(), jsonStage(), escapeStage()], after: '}"}' };
  };
  return [asJson, ...asString];
}
