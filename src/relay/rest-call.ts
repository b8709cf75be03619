import { GatewayError } from '#base/gateway-error.ts';
import type { TraceContext } from '#base/trace-context.ts';
import type { CallScope } from '#outbound/call/call-scope.ts';
import type { UpstreamReply } from '#outbound/call/outbound-call.ts';
import type { Sender } from '#outbound/call/sender.ts';
import { acceptedCodings } from '#outbound/exchange/content-decoding.ts';
import { type Hop, isRedirect, nextHop } from '#outbound/policy/redirect.ts';
import { noSeal, openHop, restCallTexts, type Seal } from './call-seal.ts';
import { findHeader, metadataRefusal } from './caller-headers.ts';
import type { RelayedCall, SendRecord } from './relayed-call.ts';
import { writeRequestBody } from './request-body.ts';
import type { RestCallRequest } from './rest-call-request.ts';

/** Milliseconds, bytes. */
interface RestCallLimits {
  readonly timeouts: { readonly firstByte: number; readonly idle: number; readonly total: number };
  readonly responseLimit: number;
  readonly redirects: number;
}

/** Policy, limits and connections of restCall. */
export interface OutboundSection {
  readonly limits: RestCallLimits;
  /** Before any look-up. */
  refusal(url: URL): GatewayError | undefined;
  readonly sender: Sender;
  hold(): () => void;
}

/** With its redirects. Throws 400 where the body cannot be written. */
export function restCall(options: {
  readonly request: RestCallRequest;
  /** False: a redirect is the reply. */
  readonly follows?: boolean | undefined;
  readonly section: OutboundSection;
  /** Id of the principal, which shares no connection. */
  readonly caller: string;
  readonly trace: TraceContext;
  readonly userAgent: string;
  /** For a redirect, in addition to the outbound policy. */
  readonly refuseHop?: (hop: Pick<Hop, 'method' | 'url'>) => GatewayError | undefined;
  readonly seal?: Seal | undefined;
}): RelayedCall {
  const { request, follows = true, section, caller, refuseHop = noRefusal, seal = noSeal } = options;
  const { sender } = section;
  const limits = follows ? section.limits : { ...section.limits, redirects: 0 };
  const first = firstHop(options);
  return {
    operation: 'restCall',
    method: first.method,
    timeLimit: limits.timeouts.total,
    body: first.body && {
      bytes: first.body,
      contentType: findHeader(request.headers ?? {}, 'content-type') ?? 'application/json',
    },
    decide() {
      const refusal =
        metadataRefusal(request.headers ?? {}) ??
        section.refusal(first.url) ??
        seal.refusal(restCallTexts(request), { url: first.url });
      return refusal === undefined ? { allowed: true, rule: undefined } : { allowed: false, rule: undefined, refusal };
    },
    hold: () => section.hold(),
    async send(scope, record) {
      const { reply, url } = await follow({ record, request, first, limits, sender, scope, caller, refuseHop, seal });
      record.note({ upstreamStatus: reply.status });
      return url === first.url ? reply : { ...reply, address: url.href };
    },
  };
}

/** `openedHop` adds credentials and secrets. */
function firstHop({
  request,
  trace,
  userAgent,
}: {
  readonly request: RestCallRequest;
  readonly trace: TraceContext;
  readonly userAgent: string;
}): Hop {
  const given = request.headers ?? {};
  const headers = Object.entries(given).flat();
  const add = (name: string, value: string): void => {
    if (findHeader(given, name.toLowerCase()) === undefined) headers.push(name, value);
  };
  const contentType = findHeader(given, 'content-type');
  const body = request.body === undefined ? undefined : writeRequestBody(request.body, contentType ?? 'application/json');
  if (body !== undefined) add('Content-Type', 'application/json');
  add('Accept', '*/*');
  add('Accept-Encoding', acceptedCodings);
  add('User-Agent', userAgent);
  add('traceparent', trace.traceparent);
  return { url: request.destination, method: request.verb, headers, body };
}

async function follow(options: {
  readonly record: SendRecord;
  readonly request: RestCallRequest;
  readonly first: Hop;
  readonly limits: RestCallLimits;
  readonly sender: Sender;
  readonly scope: CallScope;
  readonly caller: string;
  readonly refuseHop: (hop: Hop) => GatewayError | undefined;
  readonly seal: Seal;
}): Promise<{ readonly reply: UpstreamReply; readonly url: URL }> {
  const { request, limits, sender, scope, caller, refuseHop, seal } = options;
  let hop = options.first;
  /** Of the first redirect. */
  let answered: number | undefined;
  /** Undefined for another origin. */
  let credentials: RestCallRequest | undefined = request;
  try {
    for (let redirects = 0; ; redirects += 1) {
      const { origin } = hop.url;
      const { timeouts, responseLimit } = limits;
      const opened = openHop(hop, seal, { credentials, body: request.body });
      const stateChanging = hop.method !== 'GET';
      const sent = { origin, method: hop.method, ...opened, caller, stateChanging, timeouts, responseLimit };
      const reply = await sender.send(sent, scope);
      const location = limits.redirects === 0 ? undefined : redirectOf(reply);
      if (location === undefined) return { reply, url: hop.url };
      reply.discard();
      answered ??= reply.status;
      if (redirects === limits.redirects)
        throw new GatewayError(
          'too-many-redirects',
          `The upstream redirected more than ${limits.redirects} times (outbound.redirects). Call its final address.`,
        );
      hop = allowedHop(hop, { ...reply, location }, { refuseHop, seal });
      if (hop.url.origin !== origin) credentials = undefined;
      // Possibly another upstream: on record before the call leaves.
      if (hop.method !== 'GET') await options.record.redirected(hop.url.href);
    }
  } catch (failure) {
    throw answered === undefined ? failure : failureAfterRedirect(options.first.method, answered, failure);
  }
}

/** Allowed by role and outbound policy. */
function allowedHop(
  hop: Hop,
  { status, location }: { readonly status: number; readonly location: Parameters<typeof nextHop>[2] },
  { refuseHop, seal }: { readonly refuseHop: (hop: Hop) => GatewayError | undefined; readonly seal: Seal },
): Hop {
  if (seal.gives([location].flat().join()))
    throw new GatewayError('redirect-refused', 'The upstream redirects to an address that has a secret of the workflow in it.');
  const next = nextHop(hop, status, location);
  const refusal = refuseHop(next);
  if (refusal !== undefined) throw refusal;
  return next;
}

function redirectOf({ status, headers: { location } }: UpstreamReply): UpstreamReply['headers']['location'] {
  return isRedirect(status) ? location : undefined;
}

function noRefusal(): undefined {
  return undefined;
}

/** Says that the first address answered, so that no caller takes the call for unsent. */
function failureAfterRedirect(method: Hop['method'], answered: number, failure: unknown): unknown {
  if (method === 'GET' || !(failure instanceof GatewayError)) return failure;
  const { code, status, headers, upstream } = failure;
  return new GatewayError(
    code,
    `The ${method} was answered with status ${answered}; the call to the redirect's address failed. Look at the upstream before you send it again. Cause: ${failure.message}`,
    { cause: failure, status, headers, ...(upstream === undefined ? {} : { upstream }) },
  );
}
