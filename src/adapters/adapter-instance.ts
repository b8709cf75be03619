import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { CallScope } from '#outbound/call-scope.ts';
import { type FarSideReply, headerValue, type OutboundCall } from '#outbound/outbound-call.ts';
import { neverLeft, type Sender } from '#outbound/sender.ts';
import type { AdapterKind } from './adapter-kind.ts';
import { type AdapterAuthentication, credentialHeaders } from './authentication.ts';
import type { PathRights } from './path-rights.ts';
import { readRestconfError } from './restconf-errors.ts';
import { createSlots, type Slots } from './slots.ts';

/** What an operator configures of one orchestrator; durations in milliseconds, sizes in bytes. */
export interface AdapterInstanceOptions extends PathRights {
  readonly name: string;
  readonly urls: readonly string[];
  readonly auth: AdapterAuthentication;
  readonly timeouts: { readonly firstByte: number; readonly idle: number; readonly total: number };
  readonly responseLimit: number;
  readonly concurrency: number;
  readonly queue: number;
}

/** A call to an orchestrator, relative to its base address. */
export interface AdapterCall {
  readonly method: OutboundCall['method'];
  /** `params.path` as the caller wrote it, with or without its leading slash. */
  readonly path: string;
  /** Names and values in turn, without credentials. */
  readonly headers: readonly string[];
  readonly body?: Buffer;
  /** `query`: up to two retries. `action`: one, and only where no byte of the first attempt left. */
  readonly retry: 'query' | 'action';
}

/** What is known of an orchestrator from the calls that went to it: `offline` once it could not be connected to, until it answers again. */
export type AdapterState = 'online' | 'degraded' | 'offline';

/** One named orchestrator: its address, credentials, limits and slots. */
export interface AdapterInstance {
  readonly name: string;
  readonly kind: AdapterKind;
  readonly rights: PathRights;
  /** Milliseconds; a caller may ask for less, never for more. */
  readonly totalLimit: number;
  readonly slots: Slots;
  state(): AdapterState;
  /** Sends the call, and again where its retry rule allows it. Rejects as Sender.send does. */
  perform(call: AdapterCall, scope: CallScope): Promise<FarSideReply>;
  close(): Promise<void>;
}

const retryLimit = { query: 2, action: 1 } as const;
/** Milliseconds; doubled with each attempt, with full jitter. */
const backoffBase = 100;

export function createAdapterInstance(options: {
  readonly kind: AdapterKind;
  readonly instance: AdapterInstanceOptions;
  readonly sender: Sender;
  readonly clock: Clock;
}): AdapterInstance {
  const { kind, instance, sender, clock } = options;
  const base = new URL(instance.urls[0] ?? '');
  const basePath = base.pathname.replace(/\/+$/u, '');
  const credentials = credentialHeaders(instance.auth);
  const slots = createSlots(instance);
  let state: AdapterState = 'online';

  const outboundCall = (call: AdapterCall): OutboundCall => ({
    origin: base.origin,
    path: `${basePath}/${call.path.startsWith('/') ? call.path.slice(1) : call.path}`,
    method: call.method,
    headers: [...call.headers, ...credentials],
    ...(call.body === undefined ? {} : { body: call.body }),
    stateChanging: call.method !== 'GET',
    timeouts: instance.timeouts,
    responseLimit: instance.responseLimit,
  });

  return {
    name: instance.name,
    kind,
    rights: instance,
    totalLimit: instance.timeouts.total,
    slots,
    state: () => state,
    async perform(call, scope) {
      const outbound = outboundCall(call);
      for (let attempt = 0; ; attempt += 1) {
        const mayRetry = attempt < retryLimit[call.retry];
        try {
          const reply = await sender.send(outbound, scope);
          state = 'online';
          const delay = mayRetry && call.retry === 'query' ? retryDelay(reply, attempt, clock) : undefined;
          if (delay === undefined || delay >= scope.remaining()) return reply;
          reply.discard();
          await pause(delay, scope);
        } catch (failure) {
          if (neverLeft(failure)) state = 'offline';
          if (!mayRetry || !mayBeSentAgain(failure, call.retry)) throw failure;
          await pause(backoff(attempt), scope);
        }
      }
    },
    close: () => sender.close(),
  };
}

/** A query may also be repeated where its connection broke; an action only where no byte of it left. */
function mayBeSentAgain(failure: unknown, retry: AdapterCall['retry']): boolean {
  return neverLeft(failure) || (retry === 'query' && failure instanceof GatewayError && failure.code === 'upstream-closed');
}

/**
 * How long to wait before a query is repeated, or undefined where its reply is the answer. A 5xx with a RESTCONF error body
 * speaks of a device, not of the orchestrator, and stays so.
 */
function retryDelay(reply: FarSideReply, attempt: number, clock: Clock): number | undefined {
  if (reply.status !== 502 && reply.status !== 503 && reply.status !== 504) return undefined;
  if (readRestconfError(reply) !== undefined) return undefined;
  return Math.max(retryAfter(headerValue(reply.headers, 'retry-after'), clock), backoff(attempt));
}

/** Milliseconds of a Retry-After, in seconds or as an IMF-fixdate (RFC 9110 10.2.3); anything else is passed over. */
function retryAfter(value: string | undefined, clock: Clock): number {
  if (value === undefined) return 0;
  if (/^\d{1,9}$/u.test(value)) return Number(value) * 1000;
  return /^\w{3}, \d{2} \w{3} \d{4} [\d:]{8} GMT$/u.test(value) ? Math.max(0, Date.parse(value) - clock.now()) : 0;
}

function backoff(attempt: number): number {
  return 10 + Math.random() * backoffBase * 2 ** attempt;
}

function pause(milliseconds: number, scope: CallScope): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      scope.whenEnded(undefined);
      resolve();
    }, milliseconds);
    scope.whenEnded((reason) => {
      clearTimeout(timer);
      reject(reason);
    });
  });
}
