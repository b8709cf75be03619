import { GatewayError } from '#base/gateway-error.ts';
import type { TraceContext } from '#base/trace-context.ts';
import type { CallScope } from '#outbound/call-scope.ts';
import { acceptedCodings } from '#outbound/content-decoding.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';
import { type Hop, isRedirect, nextHop } from '#outbound/redirect.ts';
import type { Sender } from '#outbound/sender.ts';
import { findHeader, metadataRefusal } from './caller-headers.ts';
import type { RelayedCall, SendRecord } from './relayed-call.ts';
import { writeRequestBody } from './request-body.ts';
import type { RestCallRequest } from './rest-call-request.ts';
import { noSeal, type Seal } from './seal.ts';
import { openedHop, restCallTexts } from './sealed-rest-call.ts';

/** Limits of calls to addresses that callers name; durations in milliseconds, sizes in bytes. */
interface RestCallLimits {
  readonly timeouts: { readonly firstByte: number; readonly idle: number; readonly total: number };
  readonly responseLimit: number;
  readonly redirects: number;
}

/** The `outbound` section of the configuration for restCall: its policy, its limits and its own connections. */
export interface OutboundSection {
  readonly limits: RestCallLimits;
  /** The refusal of the URL by the outbound policy before any DNS look-up, if there is one. */
  refusal(url: URL): GatewayError | undefined;
  readonly sender: Sender;
  hold(): () => void;
}

/** A call to an address that its caller names, and its redirects. Throws 400 where its body cannot be written. */
export function restCall(options: {
  readonly request: RestCallRequest;
  /** False: a redirect is the reply. */
  readonly follows?: boolean | undefined;
  readonly section: OutboundSection;
  /** The id of the principal that calls: it gets no connection of another one. */
  readonly caller: string;
  readonly trace: TraceContext;
  readonly userAgent: string;
  /** The refusal of a redirect to this address, if there is one. The outbound policy judges the address in any case. */
  readonly refuseHop?: (hop: Pick<Hop, 'method' | 'url'>) => GatewayError | undefined;
  /** The secrets that the call may carry. */
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
    decide() {
      const refusal =
        metadataRefusal(request.headers ?? {}) ??
        section.refusal(first.url) ??
        seal.refusal(restCallTexts(request), { url: first.url });
      return refusal === undefined ? { allowed: true, rule: undefined } : { allowed: false, rule: undefined, refusal };
    },
    hold: () => section.hold(),
    async send(scope, record) {
      const { reply, url } = await followed({ record, request, first, limits, sender, scope, caller, refuseHop, seal });
      record.note({ upstreamStatus: reply.status });
      return url === first.url ? reply : { ...reply, address: url.href };
    },
  };
}

/** Without the credentials of the call, and with placeholders: `openedHop` adds what is secret. */
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

async function followed(options: {
  readonly record: SendRecord;
  readonly request: RestCallRequest;
  readonly first: Hop;
  readonly limits: RestCallLimits;
  readonly sender: Sender;
  readonly scope: CallScope;
  readonly caller: string;
  readonly refuseHop: (hop: Hop) => GatewayError | undefined;
  readonly seal: Seal;
}): Promise<{ readonly reply: FarSideReply; readonly url: URL }> {
  const { request, limits, sender, scope, caller, refuseHop, seal } = options;
  let hop = options.first;
  /** The status of the first redirect. */
  let answered: number | undefined;
  /** Another origin does not get them. */
  let credentials: RestCallRequest | undefined = request;
  try {
    for (let redirects = 0; ; redirects += 1) {
      const { origin } = hop.url;
      const { timeouts, responseLimit } = limits;
      const opened = openedHop(hop, seal, { credentials, body: request.body });
      const stateChanging = hop.method !== 'GET';
      const sent = { origin, method: hop.method, ...opened, caller, stateChanging, timeouts, responseLimit };
      const reply = await sender.send(sent, scope);
      const location = limits.redirects === 0 ? undefined : redirectOf(reply);
      if (location === undefined) return { reply, url: hop.url };
      reply.discard();
      answered ??= reply.status;
      if (redirects === limits.redirects) throw tooManyRedirects(limits);
      hop = allowedHop(hop, { ...reply, location }, { refuseHop, seal });
      if (hop.url.origin !== origin) credentials = undefined;
      // The address may be another far side, so it goes on record before the call leaves for it.
      if (hop.method !== 'GET') await options.record.redirected(hop.url.href);
    }
  } catch (failure) {
    throw answered === undefined ? failure : failureAfterRedirect(options.first.method, answered, failure);
  }
}

/** The next request, which its role and the outbound policy allow. */
function allowedHop(
  hop: Hop,
  { status, location }: { readonly status: number; readonly location: Parameters<typeof nextHop>[2] },
  { refuseHop, seal }: { readonly refuseHop: (hop: Hop) => GatewayError | undefined; readonly seal: Seal },
): Hop {
  if (seal.gives([location].flat().join())) throw givesSecret();
  const next = nextHop(hop, status, location);
  const refusal = refuseHop(next);
  if (refusal !== undefined) throw refusal;
  return next;
}

/** Where the reply redirects to, if it does. */
function redirectOf({ status, headers: { location } }: FarSideReply): FarSideReply['headers']['location'] {
  return isRedirect(status) ? location : undefined;
}

function tooManyRedirects({ redirects }: RestCallLimits): GatewayError {
  return new GatewayError(
    'too-many-redirects',
    `The far side redirected more than ${redirects} times (outbound.redirects). Call its final address.`,
  );
}

function givesSecret(): GatewayError {
  return new GatewayError('redirect-refused', 'The far side redirects to an address that has a secret of the workflow in it.');
}

function noRefusal(): undefined {
  return undefined;
}

/** The failure of a later hop: the error says that the first address has answered the call, so that no caller takes it for unsent. */
function failureAfterRedirect(method: Hop['method'], answered: number, failure: unknown): unknown {
  if (method === 'GET' || !(failure instanceof GatewayError)) return failure;
  const { code, status, headers, upstream } = failure;
  return new GatewayError(
    code,
    `The ${method} was answered with status ${answered}; the call to the redirect's address failed. Look at the far side before you send it again. Cause: ${failure.message}`,
    { cause: failure, status, headers, ...(upstream === undefined ? {} : { upstream }) },
  );
}
