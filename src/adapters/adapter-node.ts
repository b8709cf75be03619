import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { CallScope } from '#outbound/call-scope.ts';
import type { FarSideReply, OutboundCall } from '#outbound/outbound-call.ts';
import { neverLeft, type Sender } from '#outbound/sender.ts';
import type { AdapterKind, NodeRole } from './adapter-kind.ts';
import { createNodeBreaker, type NodeBreaker } from './node-breaker.ts';
import { causeOf, isNodeFailure, refusesChanges, speaksOfTheNode } from './node-failure.ts';
import { createSlots, type Slots } from './slots.ts';

/** What the nodes of an adapter instance have in common; durations in milliseconds, sizes in bytes. */
export interface NodeOptions {
  readonly name: string;
  readonly timeouts: { readonly firstByte: number; readonly idle: number; readonly total: number };
  readonly responseLimit: number;
  readonly concurrency: number;
  readonly queue: number;
  readonly breaker: { readonly failures: number; readonly openFor: number };
}

/** A call to an orchestrator, relative to its base address. */
export interface NodeCall {
  readonly method: OutboundCall['method'];
  /** `params.path` as the caller wrote it, with or without its leading slash. */
  readonly path: string;
  /** Names and values in turn, without credentials. */
  readonly headers: readonly string[];
  readonly body?: Buffer;
}

/** What is known of a node from the calls that went to it and from probes. */
export interface NodeStanding {
  readonly state: 'online' | 'offline';
  /** Milliseconds since the epoch: when it came into this state. */
  readonly since: number;
  readonly lastError: NodeError | undefined;
  /** Undefined until a probe has told. */
  readonly role: NodeRole | undefined;
}

export interface NodeError {
  readonly code: string;
  readonly detail: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** One of an orchestrator's addresses (in NSO's words a node of a high-availability group), with connections and a breaker of its own. */
export interface AdapterNode {
  /** As configured: it holds no credentials. */
  readonly url: string;
  readonly breaker: NodeBreaker;
  readonly slots: Slots;
  standing(): NodeStanding;
  /** Sends the call once. Rejects as Sender.send does, or with `adapter-unavailable` while the breaker is open. */
  send(call: NodeCall, scope: CallScope): Promise<FarSideReply>;
  /** Asks how it is. Never rejects: what went wrong is in the standing. */
  probe(): Promise<void>;
  close(): Promise<void>;
}

/** A probe that takes longer than this many milliseconds has failed. */
const probeLimit = 10_000;

export function createAdapterNode(options: {
  readonly url: string;
  readonly kind: AdapterKind;
  readonly instance: NodeOptions;
  /** Name and value, or nothing. */
  readonly credentials: readonly string[];
  readonly userAgent: string;
  readonly sender: Sender;
  readonly clock: Clock;
}): AdapterNode {
  const { url, kind, instance, credentials, userAgent, sender, clock } = options;
  const { name, timeouts } = instance;
  const base = new URL(url);
  const basePath = base.pathname.replace(/\/+$/u, '');
  const breaker = createNodeBreaker({ name, url, ...instance.breaker, total: timeouts.total, clock });
  let standing: NodeStanding = { state: 'online', since: clock.now(), lastError: undefined, role: undefined };

  const outbound = (call: NodeCall): OutboundCall => ({
    origin: base.origin,
    path: `${basePath}/${call.path.startsWith('/') ? call.path.slice(1) : call.path}`,
    method: call.method,
    headers: [...call.headers, ...credentials],
    ...(call.body === undefined ? {} : { body: call.body }),
    stateChanging: call.method !== 'GET',
    timeouts,
    responseLimit: instance.responseLimit,
  });
  const enter = (state: NodeStanding['state'], more: Partial<Pick<NodeStanding, 'lastError' | 'role'>> = {}): void => {
    const since = state === standing.state ? standing.since : clock.now();
    if (state !== standing.state || Object.keys(more).length > 0) standing = { ...standing, ...more, state, since };
  };
  const errorNow = (code: string, detail: string): NodeError => ({ code, detail, at: clock.now() });
  const failed = (failure: unknown, isGone: boolean): void => {
    const cause = causeOf(failure);
    if (!(cause instanceof GatewayError) || !isNodeFailure(failure, timeouts.total)) return;
    const gone = isGone || neverLeft(cause) || breaker.state === 'open';
    enter(gone ? 'offline' : standing.state, { lastError: errorNow(cause.code, cause.message) });
  };
  const answered = (reply: FarSideReply): void => {
    if (speaksOfTheNode(reply)) {
      enter(breaker.state === 'open' ? 'offline' : standing.state, { lastError: statusError(reply, errorNow) });
    } else {
      enter('online', refusesChanges(reply) ? { role: 'read-only' } : {});
    }
  };

  return {
    url,
    breaker,
    slots: createSlots(instance),
    standing: () => standing,
    async send(call, scope) {
      try {
        const reply = await breaker.run(() => sender.send(outbound(call), scope));
        answered(reply);
        return reply;
      } catch (failure) {
        failed(failure, false);
        throw failure;
      }
    },
    async probe() {
      const scope = new CallScope({ total: Math.min(probeLimit, timeouts.total), clock });
      try {
        const { reply, role } = await kind.probe(async (path, accept) => {
          const headers = ['Accept', accept, 'User-Agent', userAgent];
          const asked = await sender.send(outbound({ method: 'GET', path, headers }), scope);
          asked.discard();
          return asked;
        });
        const isWell = !speaksOfTheNode(reply);
        enter(isWell ? 'online' : 'offline', {
          ...(isWell ? { role } : {}),
          ...(isWell && reply.status !== 401 ? {} : { lastError: statusError(reply, errorNow) }),
        });
      } catch (failure) {
        failed(failure, true);
      } finally {
        scope.finish();
      }
    },
    close: () => sender.close(),
  };
}

function statusError({ status }: FarSideReply, errorNow: (code: string, detail: string) => NodeError): NodeError {
  const why =
    status === 401 ? 'it does not take the credentials of this adapter (auth)' : 'it is ill itself, or what stands before it';
  return errorNow('upstream-error', `It answered ${status}: ${why}.`);
}
